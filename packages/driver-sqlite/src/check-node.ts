import { LooseleafError } from '@looseleaf/core'

/** Throws where better-sqlite3 would end the process without a word: its compiled library needs a later Node. */
export function checkNode(version: string = process.versions.node): void {
  if (Number.parseInt(version, 10) >= 22) return
  throw new LooseleafError('BAD_OPTION', `SQLite shards need Node 22.18 or later; this is Node ${version}.`)
}
