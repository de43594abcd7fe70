"""Recognises boilerplate lines on article pages by their wording, collected from news sites in nine languages.

`trimming.py` decides how long such a line may be and where it is cut.
"""

import re

_READ_MORE = re.compile(
    r"""[\W_]*(?:
      leia\s(?:mais|também|tambem)|veja\s(?:mais|também|tambem)|saiba\smais|confira\stambém|assista|relacionad[ao]s?
    | (?:notícias|matérias|conteúdo)\srelacionad[ao]s?|mais\slidas|continue\slendo
    | read\s(?:more|also|next|the\sfull\sstory)|see\s(?:more|also)|also\sread
    | related(?:\s(?:articles?|stories|news|posts?))?
    | more\s(?:on\sthis|from|stories)|don['’]t\smiss|you\s(?:may|might)\s(?:also\s)?like|recommended|popular\son
    | watch|listen|(?:click|tap)\shere|trending|most\s(?:read|popular)
    | lea?\s(?:también|más)|leer\smás|ver\smás|te\spuede\sinteresar
    | lire\s(?:aussi|plus|la\ssuite)|à\slire(?:\saussi)?|voir\saussi
    | lesen\ssie\s(?:auch|mehr)|mehr\szum\sthema|ähnliche\sartikel
    | leggi\sanche|читайте\sтакже|по\sтеме
    )\b\s*(?:$|[:|•…>»–-])
    | [\u2190-\u2bff\U0001f000-\U0001faff]\W*
    (?:confira|acompanhe|siga|clique|receba|assine|inscreva|veja|leia|follow|subscribe|join|sign\sup|read|click)\b""",
    re.IGNORECASE | re.VERBOSE,
)

_CREDITED = re.compile(
    r"(?:^|[—–|(/.-] ?)(?:foto|photo|image|imagem|bild|crédito|credit|reprodução|divulgação)s? ?:"
    r" ?[^.:\n]{2,80}\.?\)?$",
    re.IGNORECASE,
)

_PROMPT_OR_CREDIT = re.compile(
    r"""[\W_]*(?:
      comentários?\b|comments?\b|\d+\scomments?|kommentare?\b|comentarios?\b|commentaires?\b|comentar\b
    | deixe\s(?:um|seu)\scomentário|(?:leave|post|add)\sa\s(?:comment|reply)|kommentar\sabgeben|tell\sus\swhat
    | (?:assine|inscreva-se|cadastre-se|siga(?:-nos)?|acompanhe|compartilhe|clique\saqui|receba)\b
    | (?:sign\sup|subscribe|follow|join|share\sthis|like\sthis|click\shere|stay\s(?:informed|on\stop))\b
    | get\s(?:the|our|all)\slatest\b|your\semail\saddress\swill|o\sseu\sendereço\sde\s
    | (?:suscríbete|síguenos|comparte|abonnez-vous|suivez|partager|abonniere|folg(?:e|t|st)|teile)\b
    | copyright|\(c\)|©|ⓒ|todos\sos\sdireitos|all\srights\sreserved|alle\srechte|tous\sdroits|todos\slos\sderechos
    | this\scopy\sis\sfor\syour\spersonal|an\serror\s(?:has\s)?occurred|this\sarticle\shas\sbeen\ssent
    | publicidade|continua\s(?:depois|após)\sd|advertisement|article\scontent|anzeige|werbung|publicité
    | tempo\sde\sleitura|tags?:|share:?$|print$|imprimir$|editing\sby|\(?reporting\sby
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_pointer(line: str) -> bool:
    """Whether a line points to another article, is a prompt after a pictogram, or a caption with a credit.

    A pointer is alone on its line or followed by a colon or bar.
    """
    return bool(_READ_MORE.match(line) or _CREDITED.search(line))


def is_prompt(line: str) -> bool:
    """Whether a line begins with a prompt to comment, follow or subscribe, or with a note of rights and credits."""
    return _PROMPT_OR_CREDIT.match(line) is not None
