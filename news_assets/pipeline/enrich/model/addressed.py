"""Finds passages that talk to a language model instead of to readers: such a text is not sent.

Besides in plain words, an instruction may be written in spaced or look-alike letters, backwards, in ROT13 or in
Base64. What this misses meets the checks of the answer.
"""

import base64
import binascii
import re
from collections.abc import Iterator

from news_assets.pipeline.enrich.model.requests import MAX_SENT_CHARS, visible
from news_assets.text.words import fold

MAX_SHOWN_CHARS = 80

_MODEL = (
    r"(?:language models?|llms?|chat ?bots?|chatgpt|gpt(?:-?\d)?|a\.?i\.?(?: (?:systems?|models?|assistants?|agents?))?"
    r"|assistants?|classifiers?|summari[sz]ers?|annotators?|taggers?|cataloguers?|bots?|crawlers?|automated \w+"
    r"|machine readers?|modelos? de (?:linguagem|ia)|modelos?|inteligencias? artificia(?:l|is)|ias?"
    r"|assistentes?(?: (?:virtua(?:l|is)|de ia|digita(?:l|is)))?|classificador(?:es)?|resumidor(?:es)?|robos?"
    r"|catalogador(?:es)?|sistemas? (?:de ia|de classificacao|automatic\w+|automatizad\w+)|anotador(?:es)?)"
)
_ARTICLE = (
    r"(?:this|the|these|above|following|current|given|este|esta|esse|essa|deste|desta|desse|dessa|neste|nesta|o|a|do|da)"
    r" (?:\w+ )?(?:articles?|texts?|news(?: items?)?|stor(?:y|ies)|documents?|materials?|passages?|pieces?|items?"
    r"|pages?|paginas?|artigos?|textos?|noticias?|materias?|documentos?|conteudos?|reportage(?:m|ns)|itens|item)"
)
_FIELD = (
    r"(?:themes?|topics?|categor(?:y|ies)|sentiments?|labels?|tags?|key ?words?|key ?points?|summar(?:y|ies)|scores?"
    r"|article[_ ]?types?|theme codes?|temas?|topicos?|categorias?|sentimentos?|rotulos?|palavras[- ]chave"
    r"|pontos[- ]chave|resumos?|sumarios?|sinteses?|pontuac(?:ao|oes)|classificac(?:ao|oes)|codigos?"
    r"|tipos? d[eo] (?:artigo|texto)|(?:sua|your) (?:saida|resposta|output|answer|response)|campos?|fields?|json)"
)
_MUST = (
    r"(?:must|should|shall|has to|have to|needs? to|ought to|is to|are to|deve(?:m|ra|rao)?|precisa(?:m)?|tem (?:de|que)"
    r"|e para)"
)
_EARLIER = (
    r"(?:previous|prior|preceding|earlier|above|foregoing|original|system|all|any|your|every|anterior(?:es)?|acima|previas?"
    r"|precedentes?|originais|do sistema|todas?|todos?|suas?|quaisquer|antes|recebid[ao]s?)"
)
_ORDERS = (
    r"(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|orders?|constraints?|schema|taxonom\w+"
    r"|instruc(?:ao|oes)|regras?|diretrizes?|orientac(?:ao|oes)|comandos?|ordens|restric(?:ao|oes)|esquema)"
)
_FORGET = (
    r"(?:ignor(?:e|a|em|ar|ando|ing)|disregard(?:ing)?|forget|override|overrule|bypass|skip|drop|desconsider(?:e|em|ar)"
    r"|esque(?:ca|cam|cer)|desobede(?:ca|cam|cer)|anule|descarte|nao (?:siga|obedeca|cumpra)"
    r"|(?:do not|don'?t|stop) (?:follow|obey)(?:ing)?|substitu(?:a|am))"
)
_ORDER = (
    r"(?:classif(?:y|ique|iquem|icar)|categori[sz]e|categorizem?|label|tag|rotulem?|etiquetem?|marquem?|mark|set|assign"
    r"|atribu(?:a|am)|define|definam?|use|utilizem?|choose|pick|select|escolham?|selecionem?|return|retornem?|devolvam?"
    r"|output|print|imprimam?|emit|respond|reply|answer|respondam?|write|escrevam?|say|diga(?:m)?|produzam?|produce"
    r"|generate|gerem?|fill(?: in)?|preencham?|put|coloquem?|insert|insiram?|summari[sz]e|resumam?|report|informem?"
    r"|describe|descrevam?|state|registrem?|translate|traduzam?|add|adicionem?|incluam?|include|declare|treat"
    r"|tratem?|considere(?:m)?|consider|rate|avaliem?|score)"
)

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_FORGET}\b[^.!?\n]{{0,40}}\b{_EARLIER}\b[^.!?\n]{{0,30}}\b{_ORDERS}\b",
        rf"\b{_FORGET}\b[^.!?\n]{{0,40}}\b{_ORDERS}\b[^.!?\n]{{0,20}}\b{_EARLIER}\b",
        rf"\b{_FORGET} (?:everything|all (?:of )?(?:that|what)|tudo|o que)\b[^.!?\n]{{0,40}}\b"
        r"(?:above|before|said|told|prior|acima|antes|anterior\w*|dit[oa]|recebeu)\b",
        r"\b(?:new|novas?|updated?|actual|real|verdadeiras?|secret|secretas?|hidden|ocultas?|additional|adicionais|final"
        r"|override) (?:system )?(?:instructions?|directives?|prompt|instruc(?:ao|oes)|comando)\b *(?:[:=]|for\b|para\b)",
        rf"\b(?:you are|you're|voce (?:agora |ja |nao )?e|voces (?:agora )?sao|act as|behave as|aja como|atue como|pretend|finja|imagine you)\b"
        rf"[^.!?\n]{{0,30}}\b{_MODEL}\b",
        rf"\b(?:if|se|caso)\b (?:you are|you're|voce (?:e|for|seja)|for|seja) [^.!?\n]{{0,20}}\b{_MODEL}\b",
        rf"\b(?:notes?|notices?|messages?|attention|attn|instructions?|warning|memo|important|reminder|request|nota|aviso"
        rf"|mensagem|atencao|instruc(?:ao|oes)|lembrete|importante|recado|pedido|comando|dear|hey|hello|hi|ola|prezad[oa]s?"
        rf"|car[oa]s?|senhor(?:es)?)\W{{1,3}}(?:(?:to|for|from|ao?s?|as?|para|do|da)\W{{1,3}})?"
        rf"(?:(?:the|any|all|every|o|a|os|as|todos|todas|qualquer|um|uma)\W{{1,3}})*{_MODEL}\b",
        rf"\b{_MODEL}\b[^.!?\n]{{0,30}}\b(?:reading|processing|parsing|summari[sz]ing|classifying|que (?:le|leem|lerem|ler"
        rf"|processa\w*|resum\w+|classific\w+))\b[^.!?\n]{{0,20}}\b{_ARTICLE}\b",
        rf"\b{_MODEL}\b,? (?:please |por favor,? )?{_MUST} (?:\w+ )?{_ORDER}\b",
        rf"\b{_ORDER}\b[^.!?\n]{{0,40}}\b{_ARTICLE}\b[^.!?\n]{{0,20}}\b(?:as|under|with|in|into|como|em|na|no|com|sob|de)\b"
        rf"[^.!?\n]{{0,60}}\b(?:{_FIELD}|positiv\w+|negativ\w+|neutr\w+|opinion|opiniao|interview|entrevista|\d[\d.]+)\b",
        rf"\b(?:classify|categori[sz]e|label|rotule|classifique|categorize|etiquete)\b[^.!?\n]{{0,20}}\b{_ARTICLE}\b"
        r"[^.!?\n]{0,20}\b(?:as|under|como|em|sob)\b",
        rf"\b{_FIELD}\b[^.!?\n]{{0,50}}\b{_MUST}\b (?:\w+ ){{0,2}}(?:be|say|read|contain|state|include|equal|ser|dizer|conter"
        rf"|constar|incluir|ficar|apontar|mencionar|estar|receber|indicar)\b[^.!?\n]{{0,40}}"
        rf"(?:[\"'“«:\d]|\b(?:positiv|negativ|neutr|spor|esport|null|nulo|only|apenas|empty|vazi)\w*)",
        rf"\b{_ORDER}\b (?:the |o |a |os |as |its |your |seu |sua |only |apenas |every |all |em )*[\"'“`]?"
        r"(?:themes?|topics?|categor(?:y|ies)|sentiments?|summar(?:y|ies)|key ?words?|article[_ ]?types?|temas?|topicos?"
        r"|categorias?|sentimentos?|resumos?|palavras[- ]chave)[\"'”`]?(?: \w+){0,3} (?:to|as|equal|para|como|igual|:|=) *\S",
        rf"\b{_ORDER}\b (?:the |o |a |os |as |its |your |seu |sua |only |apenas |every |all |em )*[\"'“`]?{_FIELD}[\"'”`]?"
        r"(?: \w+){0,3} (?:to|as|of|equal|para|como|igual|with|com|:|=) *[\"'“«{\d]",
        rf"[\"'“`]{_FIELD}[\"'”`] *[=:]|\b{_FIELD} *= *[\"'“`\w{{\[-]|\b{_FIELD}: *(?:-?[01](?:\.\d+)?\b|null\b"
        r"|(?:very )?(?:positiv|negativ|neutr)\w+\b)",
        r"\b(?:respond|reply|answer|output|return|print|responda|responder|devolva|retorne|imprima)(?:am|em)? "
        r"(?:only|just|exactly|solely|exclusively|apenas|somente|exatamente|unicamente)\b",
        r"\b(?:say|write|diga|escreva)(?:am|em)? (?:only|just|exactly|apenas|somente|so|exatamente) ?[:\"'“«]",
        r"<\|? ?/?(?:im_start|im_end|system|assistant|user|endoftext|article|instructions?|prompt|sys|end_of_turn)[^>\n]{0,40}>"
        r"|\[/?(?:inst|sys|system)\]|<<sys>>|(?:^|\n)\W{0,4}(?:system|assistant|developer|human|sistema) ?[:>]"
        r"|\b(?:begin|end|fim|inicio) (?:of |do |da |das )?(?:system |the )?(?:prompt|instructions?|instruc\w+|article|artigo"
        r"|data|dados|context|untrusted \w+)\b",
        r"\b(?:reveal|revele|repeat|repita|show|mostre|print|imprima|ignore|leak|vaze|your|seu|suas?)\b[^.!?\n]{0,25}"
        r"\b(?:system prompt|prompt d[eo] sistema|prompt inicial|initial prompt|initial instructions|instruc\w+ iniciais)\b",
        r"\b(?:developer mode|modo desenvolvedor|jailbreak\w*|do anything now|prompt injection|injecao de prompt)\b",
        r"\b(?:when|ao|whenever|while|before|quando|antes de) (?:you )?(?:summari[sz]ing|classifying|summari[sz]e|classify"
        rf"|resumir|classificar|catalogar|processar)\b[^.!?\n]{{0,15}}\b{_ARTICLE}\b[^.!?\n]{{0,10}},",
        rf"\b(?:your|sua|seu) (?:new |nova |novo |only |unica |real )?(?:task|job|goal|role|tarefa|funcao|objetivo|missao|papel)"
        rf" (?:is|now|e|agora|passa)\b[^.!?\n]{{0,20}}\b{_ORDER}\b",
        r"\b(?:your|sua) (?:\w+ )?(?:task|job|tarefa) (?:is now|now is|agora e|e agora|passa a ser)\b",
    )
)

_SPACED = re.compile(r"\b\w(?:[ .*_\-]\w\b){5,}")
_MIXED = re.compile(r"\b(?=[a-z]*[01345@$7])(?=[01345@$7]*[a-z])[a-z01345@$7]{4,20}\b")
_DIGITS = str.maketrans("01345@$7", "oieasast")
_LOOK_ALIKE = str.maketrans("аесорхуікмнвтѕјԁɡοαενιτρκ", "aecopxyikmhbtsjdgoaevitpk")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{32,4000}={0,2}")
_BACKWARDS = ("snoitcurtsni", "seocurtsni", "ycossalc", "euqifissalc", "yfissalc", "eziram", "erongi", "amuser")
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_ROT13_WORDS = ("vtaber", "vafgehpgvbaf", "vafgehpbrf", "pynffvsl", "pynffvsvdhr", "flfgrz cebzcg")


def passage_to_a_model(title: str, text: str) -> str | None:
    """Return the first passage of a text that talks to a language model, shortened; None if there is none."""
    plain = _plain(f"{title}\n{text[:MAX_SENT_CHARS]}")
    for reading in (plain, *_other_readings(plain, f"{title}\n{text[:MAX_SENT_CHARS]}")):
        for pattern in _PATTERNS:
            if found := pattern.search(reading):
                return " ".join(found[0].split())[:MAX_SHOWN_CHARS]
    return None


def _plain(text: str) -> str:
    return re.sub(r"[ \t\xa0]+", " ", fold(visible(text)).lower().translate(_LOOK_ALIKE)).replace("*", "")


def _other_readings(plain: str, text: str) -> Iterator[str]:
    """Yield what a text says if some of its letters are read otherwise."""
    if spaced := _SPACED.findall(plain):
        yield " ".join(re.sub(r"[ .*_\-]", "", one) for one in spaced)
        yield _SPACED.sub(lambda found: re.sub(r"[ .*_\-]", "", found[0]), plain)
    if _MIXED.search(plain):
        yield _MIXED.sub(lambda found: found[0].translate(_DIGITS), plain)
    if any(word in plain for word in _BACKWARDS):
        yield plain[::-1]
    if any(word in plain for word in _ROT13_WORDS):
        yield plain.translate(_ROT13)
    for blob in _BASE64.findall(text):
        decoded = _decoded(blob)
        if decoded:
            yield _plain(decoded)


def _decoded(blob: str) -> str:
    try:
        data = base64.b64decode(blob.rstrip("=") + "=" * (-len(blob.rstrip("=")) % 4), altchars=b"-_", validate=False)
        found = data.decode("utf-8")
    except (binascii.Error, ValueError):
        return ""
    return found if found.isprintable() else ""
