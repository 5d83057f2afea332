import type { Equivalents } from '../equivalent.ts'

const onlyOurs = 'An error that is not of Looseleaf has no such property.'
const oneOfEach = 'There is at most one that fits.'

export const store: Equivalents = {
  'store/deferring': {
    'createDeferWatch.look: driver.shards[shard]?.catalog → driver.shards[shard].catalog':
      'Queries ask shards that there are.',
    'createDeferWatch.look: return false → (nothing)': 'Nothing is as little as false.',
  },
  'store/entity-writer': {
    'createEntityWriter.commit: isLooseleafError(error) && error.unknownOutcome → (error.unknownOutcome)':
      onlyOurs,
    'createEntityWriter.attempt: tries > 0 && now() >= endsAt → (now() >= endsAt)':
      'At the first attempt no time has passed, and a timeout is above 0.',
    'createEntityWriter.attempt: tries > 0 → tries >= 0':
      'At the first attempt no time has passed, and a timeout is above 0.',
    'mayDefer: isLooseleafError(error) && error.retryable → (error.retryable)': onlyOurs,
  },
  'store/index-row-writer': {
    'createIndexRowWriter.unlessDropped: indexes.find(({ table }) => table === entry.table) → indexes.findLast(({ table }) => table === entry.table)':
      oneOfEach,
    'createIndexRowWriter.upsert: rows.length === 0 → false':
      'A shortcut: without it nothing is asked for either.',
    'beforeCommit: !isLooseleafError(error) || !error.unknownOutcome → (!error.unknownOutcome)': onlyOurs,
  },
  'store/manage-indexes': {
    "addIndex: catalog.indexes.find((entry) => sameRows(entry, definition) && entry.state !== 'retiring') → catalog.indexes.findLast((entry) => sameRows(…y, definition) && entry.state !== 'retiring')":
      oneOfEach,
  },
}
