-- The local forge: what GitHub keeps of a repository, beside the bare git repository that holds its branches.
CREATE TABLE repo (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    slug TEXT NOT NULL,
    default_branch TEXT NOT NULL,
    owner TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

-- Who may push; nobody listed means everybody.
CREATE TABLE collaborator (login TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Issues and pull requests share one sequence of numbers, as people expect.
CREATE TABLE thread (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('issue', 'pull')),
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    state_reason TEXT,
    author TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    closed_at TEXT
) STRICT;

CREATE TABLE pull (
    number INTEGER PRIMARY KEY REFERENCES thread (number),
    head_ref TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    base_ref TEXT NOT NULL,
    base_sha TEXT NOT NULL,
    merge_sha TEXT,
    merged_at TEXT
) STRICT;
CREATE INDEX pull_head ON pull (head_ref);

CREATE TABLE label (
    number INTEGER NOT NULL REFERENCES thread (number),
    name TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (number, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE assignee (
    number INTEGER NOT NULL REFERENCES thread (number),
    login TEXT NOT NULL,
    PRIMARY KEY (number, login)
) STRICT, WITHOUT ROWID;

CREATE TABLE comment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    number INTEGER NOT NULL REFERENCES thread (number),
    author TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted_at TEXT
) STRICT;
CREATE INDEX comment_thread ON comment (number, id);
