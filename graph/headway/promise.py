"""Does a reply without a call end in a promise to act? English, and the plainest forms of seven
other languages; rather too few than too many: a missed promise ends a run early, a wrong nudge
costs one call and annoys.

Field reports: amd/gaia#3983 (premature stops), open-swe#1535 (forced calls lengthened runs).
"""

import re

_ACTIONS = (
    "run|check|read|look|open|inspect|search|list|edit|fix|update|create|write|add|modify|change|"
    "implement|test|verify|execute|start|begin|proceed|continue|examine|investigate|use|call|try|"
    "find|explore|view|analyze|analyse|apply|install|re-?run|refactor|remove|delete|replace|"
    "review|locate|grep|fetch|load|compute|calculate|make|see|take|do|get|go|set|move"
)
_ADVERBS = r"(?:now|first|next|then|also|just|quickly|start by|begin by|go ahead and|need to)"
_PROMISE = re.compile(
    rf"(?:\bI(?:['’]ll| will| am going to|['’]m going to| am about to|['’]m about to| need to|"
    rf" should| must| have to| shall)|\blet me|\blet['’]s|\bgoing to|\bnow I|\bnext,? I)\s+"
    rf"(?:(?:{_ADVERBS}),?\s+)*(?:{_ACTIONS})\b",
    re.IGNORECASE,
)
_PROGRESSIVE = re.compile(
    rf"^(?:now|next|first|then)[,:]?\s+(?:I['’]?m\s+)?(?:{_ACTIONS})[a-z]*ing\b", re.IGNORECASE
)
_NO_PROMISE = re.compile(
    r"\?\s*$|\b(?:if you|when you|once you|unless you|should you|let me know|let us know|"
    r"you can|you could|you may|you should|would you like|feel free|please|"
    r"(?:will|['’]ll) not|won['’]t|can(?:no|['’])t|unable|from now on|in (?:the )?future|"
    r"next time|happy to|glad to|leave it|stop here|wait for)\b",
    re.IGNORECASE,
)
_ABROAD = re.compile(
    r"^(?:"
    r"(?:jetzt|nun|zuerst|als nächstes|dann) (?:führe|schaue|sehe|prüfe|lese|öffne|starte|suche|"
    r"ändere|schreibe|teste|werde) ich\b|lass mich\b|"
    r"ich (?:führe|schaue|sehe|prüfe|lese|öffne|starte|suche|ändere|schreibe|teste|werde) "
    r"(?:mir )?(?:jetzt|nun|zuerst)\b|"
    r"(?:(?:maintenant|ensuite|d['’]abord),? )?je vais (?:maintenant |d['’]abord )?"
    r"\w+(?:er|ir|re)\b|"
    r"(?:(?:ahora|primero|a continuación),? )?voy a \w+[aei]r\w*|déjame\b|"
    r"(?:(?:agora|primeiro|em seguida),? )?vou \w+[aei]r\b|deixe-me\b|"
    r"(?:(?:сейчас|теперь|сначала|далее) я|я сейчас) \w+[ую]\b|"
    r"(?:现在|接下来|首先|下面)?[,，]?(?:我(?:现在|来|先|将|接下来)?|让我)(?:来|先|将)?"
    r"(?:运行|检查|查看|看|读取|打开|修改|执行|搜索|测试|创建|编写)(?!了|完|过)|"
    r"(?:次に|まず|これから).*ます[。.]?$)",
    re.IGNORECASE,
)
"""German, French, Spanish, Portuguese, Russian, Chinese, Japanese; at the sentence's beginning."""
_NO_PROMISE_ABROAD = re.compile(
    r"\b(?:nicht|kein\w*|wenn|falls|sobald|ne|n['’]\w+|si|quand|no|cuando|não|se|не|если|"
    r"когда)\b|不|没|如果|您|你|ません|[?？]\s*$",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|^>[^\n]*$", re.DOTALL | re.MULTILINE
)
_SENTENCE = re.compile(r"(?<=[.!?…:])\s+|(?<=[。！？：])\s*|\n+")


def is_promise(text: str) -> bool:
    """Whether the last sentence of `text` announces an action of the speaker instead of an answer.

    "I'll now run the tests." is one; "You can now run the tests.", a question, an offer that
    depends on the reader and a quoted sentence are none.
    """
    spoken = _QUOTED.sub("…", text).strip()
    sentences = [part for part in _SENTENCE.split(spoken) if part.strip(" \t*_#-…")]
    if not sentences:
        return False
    last = sentences[-1].strip(" \t*_#-")
    if _NO_PROMISE.search(last):
        return False
    if _ABROAD.match(last):
        return not _NO_PROMISE_ABROAD.search(last)
    return bool(_PROMISE.search(last) or _PROGRESSIVE.search(last))
