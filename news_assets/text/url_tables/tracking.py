"""Tables for `text/urls.py`: query parameters that do not identify a page.

Sorted, lower case. The first two tables only have parameters that mean the same on
every site. One that identifies the page on some site (`ref`, `source`, `session_id`)
goes into the tables by value or by site, because merging two articles is the worse
error.

Sources: the general rules of ClearURLs, AdGuard's TrackParamFilter, Brave's query
filter, and Mozilla's query stripping list, reduced to parameters without content.
"""

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
