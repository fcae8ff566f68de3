"""What endpoints say of a request that is too long, as found in their users' reports."""

TOO_LONG: dict[str, tuple[int, str]] = {
    "OpenAI": (
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9000 tokens. Please reduce the length of the messages.",
    ),
    "OpenAI, a minute's tokens": (
        429,
        "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, "
        "Requested 30601. The input or output tokens must be reduced in order to run successfully.",
    ),
    "Anthropic": (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "Anthropic, with the reply": (
        400,
        "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
    ),
    "Gemini": (400, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
    "Groq": (400, "Please reduce the length of the messages or completion."),
    "Groq, a minute's tokens": (
        413,
        "Request too large for model `m` in organization `o` service tier `on_demand` on tokens "
        "per minute (TPM): Limit 6000, Requested 12328, please reduce your message size and try "
        "again. Need more tokens? Upgrade at https://console.groq.com/settings/billing",
    ),
    "Mistral": (
        400,
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    ),
    "DeepSeek": (
        400,
        "This model's maximum context length is 131072 tokens. However, you requested 137610 "
        "tokens (129418 in the messages, 8192 in the completion).",
    ),
    "Qwen": (400, "Range of input length should be [1, 129024]"),
    "Kimi": (400, "Invalid request: Your request exceeded model token limit: 8192"),
    "GLM": (400, "Prompt exceeds max length"),
    "xAI": (
        400,
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    ),
    "Cohere": (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    "Bedrock": (400, "Input is too long for requested model."),
    "Together": (
        400,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125",
    ),
    "TGI": (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1244"),
    "Copilot": (400, "prompt token count of 93854 exceeds the limit of 90000"),
    "Poolside": (400, "Input length 131393 exceeds the maximum allowed input length of 131040"),
    "LiteLLM": (
        503,
        "APIConnectionError: OpenAIException - Requested token count exceeds the model's maximum "
        "context length of 131072 tokens.",
    ),
    "vLLM": (400, "Input length (9001) exceeds model's maximum context length (8192)."),
    "vLLM, older": (
        400,
        "The decoder prompt (length 9001) is longer than the maximum model length of 8192.",
    ),
    "SGLang": (400, "The input (61709 tokens) is longer than the model's context length (40960)"),
    "SGLang, by memory": (
        400,
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
    ),
    "llama.cpp": (
        400,
        "request (66202 tokens) exceeds the available context size (65536 tokens), try increasing",
    ),
    "llama.cpp, in the middle": (500, "Context size has been exceeded."),
    "llama-cpp-python": (400, "Requested tokens (9000) exceed context window of 8192"),
    "LM Studio": (
        400,
        "Trying to keep the first 15857 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens, which is not enough.",
    ),
    "LM Studio, kept part": (400, "Cannot truncate prompt with n_keep (9000) >= n_ctx (8192)"),
    "Ollama": (400, "prompt too long; exceeded max context length by 812 tokens"),
}
