"""Word lists of the rules."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split(","))


# What every reader of a technical note knows.
COMMON_ACRONYMS = _words("""
    AC ACID ACL AD ADR ADRS AI AJAX AM AMD API APIS APT ARM ASCII AST AWS BBC BC BCE BIOS BOM
    BSD BST CD CDN CE CEO CEST CET CFO CI CLI CMS COO CORS CPU CR CRLF CRUD CSP CSRF CSS CSV
    CTO CV CVE DAG DB DBA DC DDL DDOS DHCP DIY DLL DML DNA DNS DOM DOS DR DRM DRY DSL DVD EDT
    EEA EOF EOL ER EST ETA ETC ETL EU EUR EXIF FAQ FIFO FIXME FK FM FTP FYI GB GBP GCC GCP GDP
    GDPR GHZ GIF GIT GMT GNU GPG GPL GPS GPT GPU GUI HD HDD HDMI HMAC HQ HR HSTS HTH HTML HTTP
    HTTPS IAM IBM ID IDE IDS IEEE IETF IMAP IMO INC IO IOS IOT IP IQ IRC IRL ISBN ISO ISP IT
    JIT JPEG JPG JPY JS JSON JSONL JVM JWT KB KG KISS KM LA LAN LCD LDAP LED LF LGPL LLM LLMS
    LRU LSP LTD LTS MA MAC MB MBA MCP MD MIDI MIME MIT ML MM MP MPEG MVC MVP NAS NASA NATO NB
    NBA NFC NFD NFS NGO NLP NPM NTFS NTP NY NYC OAUTH OCR OK OOM OOP ORM OS OSS PC PCI PDF PDT
    PEM PGP PHD PHP PID PIN PK PKM PM PNG PO POC POP POSIX POV PPT PR PRS PS PST PTY PWA QA QR
    RAID RAM REGEX REPL REST RFC RGB RIP RNA ROM RPC RPM RSA RSS RSVP RTF RW SAAS SCSS SDK SEO
    SF SHA SIM SLA SLO SMS SMTP SOAP SPA SQL SRE SSD SSH SSL SSO SSR STD STDIN STEM SVG SVN TB
    TBC TBD TCP TDD TL TLD TLDR TLS TODO TOML TTL TTY TV UDP UFO UI UID UK UML UN UNESCO UNIX
    URI URL URN US USA USB USD USSR UTC UTF UUID UX VAT VCS VIP VM VPC VPN VPS VS WAF WAL WAN
    WCAG WHO README ISC PEP OSX ANSI NUL TUI PII WIFI WIKI WIP WW WWW WYSIWYG XML XSS XXX YAML YML ZIP
""")

# Currencies, zones, keys, brands and units: names that nobody spells out.
COMMON_ACRONYMS |= _words("""
    AED ARS AUD BGN BRL BTC CAD CHF CLP CNY COP CZK DKK ETH HKD HUF IDR ILS INR KRW MXN MYR NGN
    NOK NZD PHP PLN QAR RMB RON RUB SAR SEK SGD THB TRY TWD UAH VND ZAR
    ACST ADT AEST AKST AST CST EAT HST IST JST KST MDT MSK MST NST NZST PKT SAST SST WEST WET
    ALT CAPS CTRL DEL ENTER ESC FN INS META PGDN PGUP SHIFT SPACE SUPER TAB WIN
    ABBA ABC ABS ACM ADHD AEG AEIOU AGFA AOL APA ARTE ASUS ATX BASF BASIC BIND BMW BSP CERN CNET CNN COBOL
    COVID CUDA DARPA DB DDR DEC DHL DMG DPI ELF ESA ESPN ESRI FAT FBI FEDEX FIFA FLAC FM FORTRAN FSF GE GM
    GMBH HBO HP HSBC HTC IIS IKEA INRIA ISS ITV KDE KFC KPMG KVM LEGO LG LIDL LISP LOC LOL LVM MATLAB MGM
    MP MSI MSN MTV MVS NEC NES NFL NHS NICE NIST NTT NVIDIA NXP OECD OMG PAL PASCAL PBS PDP PIP PS PSP RAF RAR
    RCA REI SAP SAS SD SEGA SNES SNL SONY SPSS SSL STL TCL TED THX TI TNT TOR TSMC TSV TWAIN UCLA UEFA UPS
    USPS VAX VAT VHS VIM VW WASD WAV WEBP WMA WMV WWF WWI WWII YMCA ZDF ZFS ZSH
""")

# Plain words that stand in capitals for force, or because a language spells them so.
WORDS_IN_CAPITALS = _words("""
    ABOVE ADD AFTER AGAIN ALL ALSO ALTER ALWAYS AN AND ANY ARE AS ASC ASK AT AUTO AVOID BAD
    BASE BE BEFORE BEGIN BELOW BEST BLOCK BOTH BUG BUT BY CALL CAN CASE CHAR CHECK CLEAN CLOSE
    CODE COPY COUNT CREATE CROSS DATA DATE DEBUG DELETE DESC DID DO DOES DON DONE DOWN DRAFT
    DROP DURING EACH EDIT ELSE EMPTY END ENUM ERROR EVER EVERY EXACT EXCEPT EXEC EXISTS EXIT
    FAIL FAILED FALSE FILE FINAL FIRST FIX FIXED FLAG FOR FORCE FROM FULL GET GIVEN GO GOOD
    GROUP HAD HARD HAS HAVE HEAD HERE HIGH HOW IF IN INDEX INFO INNER INPUT INSERT INT INTO IS
    ISSUE IT ITEM ITS JOIN JUST KEEP KEY KEYS KNOW LAST LEFT LESS LET LIKE LIMIT LINK LIST
    LOCK LONG LOW MAIN MAJOR MAKE MANY MAX MAY ME MERGE MIN MINOR MISS MODE MORE MOST MOVE
    MUST MY NAME NEEDED NEVER NEW NEXT NO NON NONE NOT NOTE NOTES NOTHING NOW NULL OF OFF OLD
    ON ONE ONLY OPEN OR ORDER OTHER OUR OUT OUTER OVER OWN PASS PASSED PATCH PATH PLEASE POST
    PULL PUSH PUT QUEUE RAW READ READY REAL REDO REF REVIEW RIGHT RULE RULES RUN SAFE SAME
    SAVE SEE SELECT SEND SET SHALL SHE SHOULD SHOW SIGN SIZE SKIP SLOW SO SOME SOON START
    STATUS STEP STEPS STILL STOP SUM SUMMARY TABLE TAG TASK TEST TEXT THAN THAT THE THEM THEN
    THERE THESE THEY THIS THOSE TIME TIP TITLE TO TOO TOP TRUE TRY TWICE TWO TYPE UNDER UNDO
    UNION UNIQUE UNKNOWN UNTIL UP UPDATE UPPER USE USED USER USING VALUE VERY VIA VIEW WANT
    WARN WAS WAY WE WERE WHAT WHEN WHERE WHICH WHILE WHO WHY WILL WITH WORD WORK WRONG YES YET
    YOU YOUR ZERO
""")

# Left out of an acronym's letters.
SMALL_WORDS = _words("""
    a and by de du for in la of on or the to und von with
""")

EMPTY_TITLES = _phrases("""
    untitled, untitled note, new note, note, notes, misc, miscellaneous, stuff, draft,
    document, doc, page, test, temp, tmp, todo, title, my note, my notes, random, random
    notes, various, various notes, general, general notes, new document, new page, ohne titel,
    sans titre
""")

# Words that make a description no longer than its title.
CARRIES_NOTHING = _words("""
    a about all an and are article as at be by contains covers describes description details
    discusses document explains for from gives guide how in into is it its note notes of on or
    our overview page summary that the this to us we what when where which why with you your
""")

VAGUE_LINK_TEXTS = _phrases("""
    here, click, click here, click this, this, this link, the link, link, links here, read
    more, more, see more, see here, learn more, find out more, more info, more information,
    more here, this page, this article, this post, this document, this site, this website,
    this one, details here, go here, go, right here, over here, follow this link, hier,
    klicken sie hier, ici, cliquez ici, aquí, aqui, haz clic aquí, qui, clicca qui
""")

EMPTY_ALTERNATIVES = _phrases("""
    image, img, picture, photo, pic, screenshot, screen shot, figure, diagram, alt, alt text,
    untitled, logo, icon, graphic, chart, enter image description here, description
""")

# Only words that do not stand twice in good English, as in "had had", "that that", "log in in".
NEVER_TWICE = _words("""
    a an and are at be but by can could for from has have if into its may must of or our
    should the their these they this those to was we were when which will with would your
""")

# A full stop after these ends no sentence: the first before anything, the second before a figure,
# the third before a small letter.
ABBREVIATIONS = _words("""
    approx bzw ca cf dr e.g eds i.e mr mrs ms prof resp u.k u.s usw viz vs z.b
""")
BEFORE_FIGURES = _words("""
    art ch ed eq eqs fig figs no nos p pp sec sect vol
""")
BEFORE_SMALL_LETTERS = _words("""
    al corp etc inc jr ltd sr st
""")

INLINE_TAGS = _words("""
    a abbr b bdi bdo br cite code del dfn em i img input ins kbd label mark q s samp small
    span strong sub sup time u var wbr
""")
