/** Parts of the help that `clean` and the commands for one index share. */

export const CLEAN_EXIT = `The exit code is 1 when a problem remains: a filling that is paused or whose
index is hidden, entities that share a key of a unique index, or bodies that
cannot be decoded.`

export const DANGLING = `Rows that match no entity are counted. They change no answer, and a clean
deletes them.`

export const CLEAN_JSON = `  { "indexes": [{ "index", "generation", "state", "entities", "rows", "added",
      "removed", "fenced", "postponed", "misplaced", "misfits", "duplicates",
      "undecodable", "unique": true for claims,
      "halted": true if it is paused or hidden }],
    "added", "removed", "fenced", "postponed", "complete",
    "expired": entities deleted }`

export const CHECK_JSON = `  { "ok",
    "indexes": [{ "index", "generation", "entities", "rows", "missing",
      "unclaimed", "dangling", "misplaced", "misfits", "undecodable",
      "unsettled", "examples": [id] }] }`
