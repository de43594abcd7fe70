"""Ports of other protocols, to which no request is sent."""

# "Bad ports" of WHATWG Fetch, https://fetch.spec.whatwg.org/#port-blocking: browsers refuse them too.
_OF_BROWSERS = """
    1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135
    137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995
    1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
# Servers that obey or store what a request of plain text contains, or answer it with data; IANA's service names.
_OF_SERVERS = {
    445: "SMB",
    873: "rsync",
    1433: "SQL Server",
    1521: "Oracle",
    2181: "ZooKeeper",
    2375: "Docker",
    2376: "Docker",
    2379: "etcd",
    2380: "etcd",
    3306: "MySQL",
    3389: "RDP",
    4369: "epmd",
    5432: "PostgreSQL",
    5672: "AMQP",
    5900: "VNC",
    5984: "CouchDB",
    6379: "Redis",
    6443: "Kubernetes",
    8086: "InfluxDB",
    8108: "Typesense",
    9042: "Cassandra",
    9092: "Kafka",
    9200: "Elasticsearch",
    9300: "Elasticsearch",
    10250: "Kubernetes",
    11211: "memcached",
    25672: "RabbitMQ",
    27017: "MongoDB",
}
BAD_PORTS = frozenset(map(int, _OF_BROWSERS.split())) | frozenset(_OF_SERVERS)
