"""The closed word lists of the review system; stored values are lowercase words."""

from __future__ import annotations

from django.db.models import TextChoices


class JobStatus(TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


OPEN_JOB_STATUSES = (JobStatus.QUEUED, JobStatus.RUNNING)


class FailureCode(TextChoices):
    PAIRS_MISSING = "pairs-missing"
    ALL_OR_NOTHING = "all-or-nothing"
    NO_OUTPUT = "no-output"
    RUNNER_ERROR = "runner-error"
    RUNNER_TIMEOUT = "runner-timeout"
    RATE_LIMITED = "rate-limited"
    ACCOUNT_EXHAUSTED = "account-exhausted"
    PARTITION_MISMATCH = "partition-mismatch"
    INTERRUPTED = "interrupted"
    OPERATOR = "operator"
    REPLACED = "replaced"


class JobNote(TextChoices):
    """An entry of a job's log that changed no status."""

    PRUNED = "artifacts pruned"
    TAKEN_OVER = "taken over"


class JobPurpose(TextChoices):
    REVIEW = "review"
    TRIAL = "trial"


class Expectation(TextChoices):
    FLAG = "flag"
    PASS = "pass"


class CaseOrigin(TextChoices):
    EXAMPLE = "example"
    SEED = "seed"
    HISTORY = "history"
    HAND = "hand"


class Grouping(TextChoices):
    """The grouping of pairs in a job: one note and lens, or one gate over a batch of notes."""

    NOTE = "note"
    GATE = "gate"


class PairStatus(TextChoices):
    PENDING = "pending"
    COMPLETED = "completed"
    MISSING = "missing"


class Decision(TextChoices):
    """The decision of a completed pair; `error` and `unknown` never make it fresh."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    ERROR = "error"
    UNKNOWN = "unknown"


ACCEPTING_DECISIONS = (Decision.PASS, Decision.WARN, Decision.FAIL)
QUEUED_DECISIONS = (Decision.WARN, Decision.FAIL)


class DecisionSource(TextChoices):
    """The form in which a decision was read; `typed` is data, not text."""

    RESULT_LINE = "result-line"
    DECLARED = "declared"
    TYPED = "typed"


class Severity(TextChoices):
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


GRAVITY: dict[str, int] = {severity: rank for rank, severity in enumerate(Severity, start=1)}


class DispositionState(TextChoices):
    OPEN = "open"
    FIXED = "fixed"
    REJECTED = "rejected"
    DEFERRED = "deferred"


class Seen(TextChoices):
    """The history of a finding; `regressed` was marked fixed in between."""

    NEW = "new"
    PERSISTING = "persisting"
    REGRESSED = "regressed"


class NoteNow(TextChoices):
    SAME = "same"
    CHANGED = "changed"
    GONE = "gone"


class AcceptanceKind(TextChoices):
    FULL_REVIEW = "full-review"
    ACK = "ack"
    AUTO_ACK = "auto-ack"
    OVERRIDE = "override"
    CARRY_OVER = "carry-over"


class Staleness(TextChoices):
    """The reasons for staleness, highest precedence first; `requested` is another selector mode."""

    MISSING_REVIEW = "missing-review"
    GATE_CHANGED = "gate-changed"
    NOTE_CHANGED = "note-changed"


STALE = "stale"
REQUESTED = "requested"
RULES_PARTITION = "rules"


class NotAccepted(TextChoices):
    SUPERSEDED = "superseded"
    DECISION_ERROR = "decision-error"
    DECISION_UNKNOWN = "decision-unknown"
    PARTITION_MISMATCH = "partition-mismatch"
    QUOTES_OF_ANOTHER_NOTE = "quotes-of-another-note"
    TRIAL = "trial"


class LookReason(TextChoices):
    DECISION_UNKNOWN = "decision-unknown"
    DECISION_ERROR = "decision-error"
    QUOTES_OF_ANOTHER_NOTE = "quotes-of-another-note"
    FINDINGS_DISAGREE = "findings-disagree"
    QUOTES_NOT_FOUND = "quotes-not-found"
    NO_FINDINGS = "no-findings"
    FLIPPED = "flipped"


class Region(TextChoices):
    TITLE = "title"
    DESCRIPTION = "description"
    FRONTMATTER = "frontmatter"
    BODY = "body"


class ProblemCode(TextChoices):
    INVALID_FRONTMATTER = "invalid-frontmatter"
    UNCLOSED_FRONTMATTER = "unclosed-frontmatter"
    NOT_UTF8 = "not-utf8"
    CONTAINS_NUL = "contains-nul"
    TOO_LARGE = "too-large"
    EMPTY_NOTE = "empty-note"
    GIT_LFS_POINTER = "git-lfs-pointer"
    MERGE_CONFLICT = "merge-conflict"
    CONFLICTED_COPY = "conflicted-copy"
    OUTSIDE_ROOT = "outside-root"
    LINK_LOOP = "link-loop"
    NOT_A_FILE = "not-a-file"
    BAD_NAME = "bad-name"
    NAME_COLLISION = "name-collision"
    CASE_COLLISION = "case-collision"
    UNREADABLE = "unreadable"
    VANISHED = "vanished"
    EMPTY_GATE = "empty-gate"
    INVALID_GATE = "invalid-gate"
    INVALID_CASE = "invalid-case"
    GATE_ID_MISMATCH = "gate-id-mismatch"
    UNKNOWN_KEY = "unknown-key"
    UNKNOWN_WATCH = "unknown-watch"
    UNKNOWN_RULE = "unknown-rule"
    IDLE_SKIP = "idle-skip"
    PROMPT_TOO_LARGE = "prompt-too-large"
    DAMAGED_LOCK = "damaged-lock"
