"""Tables and rules of `text/urls.py`: parameters that do not identify a page, domains
shared by many publishers, and addresses that only lead to another.

Sorted, lower case. The first two tables of parameters only have those that mean the
same on every site. One that identifies the page on some site (`ref`, `source`,
`session_id`) goes into the tables by value or by site, because merging two articles is
the worse error. Sources: the general rules of ClearURLs, AdGuard's TrackParamFilter,
Brave's query filter, and Mozilla's query stripping list, reduced to parameters without
content.

There is no table of redirecting sites: a redirect has an absolute address in its query
or path, and a path that says that it leads away, or names no page.
"""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import SplitResult, unquote_plus

# --- query parameters -----------------------------------------------------------------


TRACKING_PREFIXES = (
    "__hs",  # HubSpot
    "_hs",
    "aff_",
    "at_",  # AT Internet / Piano: at_medium, at_campaign, at_custom1
    "bsft_",
    "fb_action_",
    "ga_",
    "guce_referrer",
    "hmb_",
    "itm_",
    "mkt_",
    "mtm_",  # Matomo
    "oly_",
    "otm_",
    "sfmc_",
    "trk_",
    "utm_",
    "vero_",
    "xtor",
    "xts",
)

TRACKING_PARAMETERS = frozenset(
    {
        "__io_lv",
        "__s",
        "__tn__",
        "__twitter_impression",
        "_bhlid",
        "_branch_match_id",
        "_branch_referrer",
        "_ga",
        "_gac",
        "_gl",
        "_kx",
        "_openstat",
        "action_object_map",
        "action_ref_map",
        "action_type_map",
        "bbeml",
        "cmp",
        "cmpid",
        "cmpid2",
        "cx_click",
        "cx_recsorder",
        "cx_recswidget",
        "dc_campid",
        "dclid",
        "dgcid",
        "dlvrit",
        "dmcid",
        "echobox",
        "ef_id",
        "emcid",
        "epik",
        "et_rid",
        "extcmp",
        "fb_comment_id",
        "fb_ref",
        "fb_source",
        "fbclid",
        "ftag",
        "gbraid",
        "gclid",
        "gclsrc",
        "google_editors_picks",
        "gs_l",
        "hootpostid",
        "hsctatracking",
        "icmpid",
        "igsh",
        "igshid",
        "int_cmpid",
        "intcmp",
        "irclickid",
        "mbid",
        "mc_cid",
        "mc_eid",
        "mc_tc",
        "mindbox-message-key",
        "ml_subscriber",
        "ml_subscriber_hash",
        "msclkid",
        "nr_email_referer",
        "ns_campaign",
        "ns_fee",
        "ns_linkname",
        "ns_mchannel",
        "ns_source",
        "ocid",
        "os_ehash",
        "pk_campaign",
        "pk_cid",
        "pk_content",
        "pk_keyword",
        "pk_kwd",
        "pk_medium",
        "pk_source",
        "rb_clickid",
        "ref_src",
        "ref_url",
        "s_cid",
        "s_kwcid",
        "share_token",
        "shared_from",
        "sms_click",
        "sms_source",
        "sms_ss",
        "sms_uph",
        "spjobid",
        "spm",
        "spmailingid",
        "spot_im_redirect_source",
        "spreportid",
        "spuserid",
        "sr_share",
        "srsltid",
        "ss_email_id",
        "syclid",
        "taid",
        "tblci",
        "tpcc",
        "tracking_source",
        "traffic_source",
        "ttclid",
        "twclid",
        "unicorn_click_id",
        "utm",
        "vgo_ee",
        "wbraid",
        "wickedid",
        "wt_mc",
        "wt_zmc",
        "wtrid",
        "xtcr",
        "xtloc",
        "xtnp",
        "xtref",
        "yclid",
        "ymclid",
        "ysclid",
    }
)

# Session ids; the second table needs a long random value, because councils number their
# sessions.
SESSION_PARAMETERS = ("aspsessionid", "jsessionid", "phpsessid")
SESSION_PARAMETERS_BY_VALUE = frozenset(
    {"cfid", "cftoken", "session_id", "sessionid", "sid"}
)

_CHANNELS = frozenset(
    {
        "email",
        "facebook",
        "facebook.com",
        "fb",
        "feed",
        "feedburner",
        "flipboard",
        "google",
        "googlenews",
        "homepage",
        "instagram",
        "linkedin",
        "newsletter",
        "reddit",
        "rss",
        "rss1.0",
        "rss2.0",
        "rssfeed",
        "share",
        "social",
        "t.co",
        "telegram",
        "tw",
        "tw_i",
        "twitter",
        "twitter.com",
        "whatsapp",
    }
)

# Parameters that some sites use for content: dropped only with a value that names a
# channel.
CHANNEL_PARAMETERS = {
    name: _CHANNELS
    for name in (
        "_from",
        "cid",
        "feature",
        "from",
        "partner",
        "ref",
        "referer",
        "referrer",
        "rss",
        "share",
        "smid",
        "source",
        "src",
        "via",
    )
}

# Site (registrable or full host name, including subdomains) -> parameters that are
# tracking there.
SITE_PARAMETERS = {
    "bbc.co.uk": frozenset(
        {"pinned_post_asset_id", "pinned_post_locator", "pinned_post_type"}
    ),
    "bbc.com": frozenset(
        {"pinned_post_asset_id", "pinned_post_locator", "pinned_post_type"}
    ),
    "cnn.com": frozenset({"cid", "eref"}),
    "elpais.com": frozenset({"id_externo_rsoc", "prm", "ssm"}),
    "forbes.com": frozenset({"sh", "ss"}),
    "ft.com": frozenset({"ftcamp", "segmentid", "sharetype"}),
    "globo.com": frozenset({"origem"}),
    "huffpost.com": frozenset({"ncid"}),
    "lemonde.fr": frozenset({"lmd_campaign", "lmd_creation", "lmd_link", "lmd_medium"}),
    "nytimes.com": frozenset(
        {
            "campaign_id",
            "emc",
            "nl",
            "partner",
            "regi_id",
            "rref",
            "smid",
            "smtyp",
            "te",
        }
    ),
    "reuters.com": frozenset({"feedname", "feedtype", "rpc"}),
    "telegraph.co.uk": frozenset({"li_medium", "li_source"}),
    "theguardian.com": frozenset({"commentpage"}),
    "thetimes.co.uk": frozenset({"sharetoken"}),
    "twitter.com": frozenset({"s", "t"}),
    "uol.com.br": frozenset({"cmpid"}),
    "washingtonpost.com": frozenset({"itid", "outputtype", "tid"}),
    "wsj.com": frozenset({"mod", "reflink"}),
    "x.com": frozenset({"s", "t"}),
    "youtu.be": frozenset({"si"}),
    "youtube.com": frozenset({"feature", "pp", "si"}),
}


# --- shared domains -------------------------------------------------------------------


SHARED_DOMAINS: Final = frozenset(
    {
        # blogs and newsletters
        "beehiiv.com",
        "blog.br",
        "ghost.org",
        "hatenablog.com",
        "livejournal.com",
        "medium.com",
        "over-blog.com",
        "squarespace.com",
        "substack.com",
        "tumblr.com",
        "typepad.com",
        "wordpress.com",
        # platforms of councils and public bodies
        "agendacenter.com",
        "boarddocs.com",
        "civicclerk.com",
        "civicplus.com",
        "civicweb.net",
        "community.diligentoneplatform.com",
        "community.highbond.com",
        "databankcloud.com",
        "escribemeetings.com",
        "granicus.com",
        "hylandcloud.com",
        "iqm2.com",
        "legistar.com",
        "municode.com",
        "novusagenda.com",
        "primegov.com",
        "simplebooklet.com",
    }
)


# --- redirects ------------------------------------------------------------------------


AMP_CACHE = re.compile(
    r"""http(?P<scheme>s)?://(?:(?:[\w-]+\.(?:cdn\.ampproject\.org|bing-amp\.com)/[aciv]
    | (?:www\.)?google(?:\.[a-z]{2,3}){1,2}/amp)/(?P<secure>s/)?
    | (?P<kept>(?:[\w-]+\.)*marfeelcache\.com/amp/))
    (?=\w)(?=[^/]+\.)""",
    re.IGNORECASE | re.VERBOSE,
)
_STARRED = re.compile(r"https?://redir\.folha\.com\.br/redir/[^*]*\*(?=https?://)")
_IN_PATH = re.compile(r"/(?P<target>https?(?::|%3a)(?:/|%2f).+)", re.IGNORECASE)

# As a segment of the path or a label of the host: it does nothing but lead away.
_LEADING = re.compile(
    r"""(?:(?:aw|api|[er])?clicks?|click-[\w-]*|\w*clk|cread|tra?c?k|track(?:ing|er)
    | link-?track(?:ing|er)?|links?|lm?|link(?:filter|out)|deeplinks?|out(?:bound|going|link)?|exit
    | external|leav(?:e|ing)|away|warn(?:ing)?|r|rd\d?|redir|\w*redirect(?:s|or|ion)?|go|goto|jump
    | visit|url|gateway|\w*safelinks?|[\w-]*log-?(?:in|on|out)|sign-?in|sso|o?auth2?|accounts?
    | consent)(?:\.\w{2,5})?""",
    re.IGNORECASE | re.VERBOSE,
)
# A page about another one: it shares, shows, copies, checks or discusses that one.
_ABOUT_ANOTHER = re.compile(
    r"""(?:add|api|archives?|bookmark\w*|cache|check|comments?|edit|embed|feedback|feeds?|gview
    | images?|img|intent|oembed|pin|player|post|preview|print|proxy|render|resize|rss|save|search
    | send|share\w*|sharing|submit\w*|subscri\w+|thumbs?|translate|validat\w+|view\w*|wayback
    | widgets?)(?:\.\w{2,5})?""",
    re.IGNORECASE | re.VERBOSE,
)
# A path that names no page: `/`, `/c/`, `/t/12-34`, `/v1/otc/`.
_NAMELESS = re.compile(
    r"/|(?:/[a-z]{1,3}\d?(?:\.[a-z]{2,4})?)+(?:/[\d-]+)*/?", re.IGNORECASE
)
_REDIRECTING = re.compile(
    r"(?:\w*_)?(?:redir\w*|dest(?:ination)?|go_?to)", re.IGNORECASE
)
_MAX_NAME_CHARS = 64  # of a parameter that leads to a page
_TARGET = re.compile(
    r"""(?!back|cancel|canonical|feed|home|icon|image|img|logo|media|page|photo|ref|return|share|site
    |source|thumb|video).*(?:uri|url|link|redir\w*|dest\w*|target|trg|goto)|[lru]|to|ued""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_TARGET = re.compile(
    r"\w*refer+er|refs?|src|source|base|image|img|logo|back\w*|cancel\w*", re.IGNORECASE
)
_FILE = re.compile(r"\.(?:avif|css|gif|ico|jpe?g|js|png|svg|webp)$", re.IGNORECASE)
_ABSOLUTE = re.compile(
    r"(?:https?:)?//(?:www\.)?(?P<host>[^/?#]*\w\.\w[^/?#]*)", re.IGNORECASE
)
_ENCODED = re.compile(r"https?%3a", re.IGNORECASE)
_BASE64 = re.compile(r"(?:a1)?(aHR0c[\w+/-]+)=*")


def target_in(url: str, parts: SplitResult) -> str | None:
    """Return the absolute address that an address with a normal spelling leads to; None
    for a page.

    `parts` are the parts of `url`.
    """
    cached = AMP_CACHE.match(url)
    if cached is not None:
        is_secure = cached["scheme"] if cached["kept"] else cached["secure"]
        scheme = "https" if is_secure else "http"
        return f"{scheme}://{url[cached.end() :]}"
    starred = _STARRED.match(url)
    if starred is not None:
        return url[starred.end() :]
    if "?" not in url and "http" not in url[len("http") :]:
        return None
    host = (parts.hostname or "").removeprefix("www.")
    words = [*host.split(".")[:-2], *parts.path.split("/")]
    if any(map(_ABOUT_ANOTHER.fullmatch, words)):
        return None
    if any(map(_LEADING.fullmatch, words)):
        return _target_of_leading(parts)
    names = _TARGET if _NAMELESS.fullmatch(parts.path) else _REDIRECTING
    for name, target in _addresses(parts.query):
        if names.fullmatch(name) and not _is_on(target, host):
            return target
    return None


def _is_on(target: str, host: str) -> bool:
    found = _ABSOLUTE.match(target)
    if found is None:
        return False
    return found["host"].lower() == host


def _target_of_leading(parts: SplitResult) -> str | None:
    """Return the address in the path, else in a parameter named for it, else in any."""
    in_path = _IN_PATH.search(parts.path)
    if in_path is not None:
        return _address_in(f"{in_path['target']}?{parts.query}".rstrip("?"))
    found = list(_addresses(parts.query))
    for name, target in found:
        if _TARGET.fullmatch(name):
            return target
    if not found:
        return None
    return found[0][1]


def _addresses(query: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters, in lower case, whose value is an absolute address, and
    those addresses.
    """
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if _ENCODED.match(name):  # `?https%3A%2F%2Fa.org`: the address is all there is
            name, value = "url", pair
        if len(name) > _MAX_NAME_CHARS:
            continue
        found = _address_in(value)
        if found and not _NO_TARGET.fullmatch(name):
            yield unquote_plus(name).lower(), found


def _address_in(value: str) -> str | None:
    """Return the absolute address of a page in a value that is encoded once or twice,
    or in base64.
    """
    text = unquote_plus(value)
    if _ENCODED.match(text):
        text = unquote_plus(text)
    encoded = _BASE64.fullmatch(text)
    if encoded is not None:
        text = _from_base64(encoded[1])
    if not _ABSOLUTE.match(text):
        return None
    if _FILE.search(text.partition("?")[0]):
        return None
    return text


def _from_base64(text: str) -> str:
    with suppress(ValueError):
        padded = text + "=" * (-len(text) % 4)
        return urlsafe_b64decode(padded.replace("+", "-").replace("/", "_")).decode()
    return ""
