"""A supervisor (langgraph-supervisor) that hands one request to two headways, one after another."""

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph_supervisor import create_supervisor
from models import call, says

from headway import build_agent
from headway.testing import PolicyModel


def stock(item: str) -> int:
    """How many of an item are in stock."""
    return {"lamp": 4}.get(item, 0)


def price(item: str) -> float:
    """What an item costs."""
    return {"lamp": 19.5}.get(item, 0.0)


def boss(messages: list[BaseMessage], tools: list[dict]) -> AIMessage:
    """Ask each agent once, then put their answers together."""
    said = [m for m in messages if isinstance(m, AIMessage) and "Transferring" not in m.text]
    answers = {m.name: m.text for m in said if m.text}
    for name in ("stock_agent", "price_agent"):
        if name not in answers:
            return call(f"transfer_to_{name}")
    return AIMessage(f"{answers['stock_agent']} {answers['price_agent']}")


def main() -> None:
    agents = [
        build_agent(says(call("stock", item="lamp"), "Four,"), tools=[stock], name="stock_agent"),
        build_agent(says(call("price", item="lamp"), "19.50."), tools=[price], name="price_agent"),
    ]
    graph = create_supervisor(agents, model=PolicyModel(policy=boss)).compile()
    result = graph.invoke({"messages": [HumanMessage("How many lamps, at what price?")]})
    print(result["messages"][-1].text)


if __name__ == "__main__":
    main()
