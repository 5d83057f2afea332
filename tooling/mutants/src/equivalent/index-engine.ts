import type { Equivalents } from '../equivalent.ts'

const oneOfEach = 'There is at most one that fits.'
const hasShards = 'A driver has a shard at the least.'
const shortcut = 'A shortcut: without it the same is computed.'
const sameRow = 'Two rows of one place are the same row, on two shards: either may come first.'

export const indexEngine: Equivalents = {
  'index-engine/catalog/catalog': {
    'mergeCatalogs: shard.indexes.find(({ table }) => table === entry.table) → shard.indexes.findLast(({ table }) => table === entry.table)':
      oneOfEach,
    "mergeCatalogs: known[0]?.storeId ?? '' → (known[0]?.storeId)": hasShards,
    'mergeCatalogs: known[0]?.storeId → known[0].storeId': hasShards,
    'mergeCatalogs: known[0]?.queryTimeMs → known[0].queryTimeMs': hasShards,
  },
  'index-engine/conditions/matching-key': {
    'matchingKey: compareKeys(row.key, first, opened.directions) < 0 → compareKeys(row.key, first, opened.directions) <= 0':
      'The rows of an entity have different keys.',
  },
  'index-engine/catalog/change-catalog': {
    'leadingCatalog: contentsEpochOf(b) > contentsEpochOf(a) → contentsEpochOf(b) >= contentsEpochOf(a)':
      'Contents of one epoch are the same.',
  },
  'index-engine/catalog/owners': {
    'isLater: isServed && !other.isServed → (!other.isServed)':
      'A bucket is given up once by a move: two records of that say the same.',
  },
  'index-engine/keys/diff-rows': {
    'without: keys.length === 0 || others.length === 0 → false': shortcut,
    'without: keys.length === 0 || others.length === 0 → (keys.length === 0)': shortcut,
    'without: keys.length === 0 || others.length === 0 → (others.length === 0)': shortcut,
    'without: keys.length === 1 && others.length === 1 → false': shortcut,
  },
  'index-engine/keys/near-key': {
    'placeOfNear: COLUMN_TYPES.find((each) => each === name) → COLUMN_TYPES.findLast((each) => each === name)':
      oneOfEach,
  },
  'index-engine/pages/judge-rows': {
    'createJudge.learn: owner === undefined → false': 'No more entities come than were asked for.',
    'createJudge.takeOverdue: compare(first, before) >= 0 → compare(first, before) > 0':
      'At its own place the entity is taken in any case, by its row or without it.',
    'createJudge.entityAt: candidate === undefined || candidate === null → (candidate === null)':
      'Every entity of the batch was asked for.',
    'createJudge.entityAt: compare(candidate, row) <= 0 → false':
      'A shortcut: a row at or before the one in hand neither follows in the batch nor was left unread.',
  },
  'index-engine/pages/merge-rows': {
    'mergeRows.refill: rows.at(-1) ?? stream.reached → (rows.at(-1))':
      'A shard without an answer has ended, so its place does not matter any more.',
    'mergeRows.first: compare(row, bestRow) < 0 → compare(row, bestRow) <= 0': sameRow,
    'mergeRows.take: exhausted.length > 1 → true': 'To wait for nothing changes nothing.',
    'mergeRows.mayCome: stream === undefined → false': 'Answers are on the shards that the query asks.',
    'mergeRows.mayCome: return false → return true': 'Answers are on the shards that the query asks.',
    'mergeRows.mayCome: reached === undefined || compare(reached, place) < 0 → (compare(reached, place) < 0)':
      'When a row is judged every shard was read from, or has ended.',
    'mergeRows.mayCome: compare(reached, place) < 0 → compare(reached, place) <= 0':
      'The row that was reached is in hand, or follows in the batch, which is looked at first.',
  },
  'index-engine/definitions/property-value': {
    'propertyValue: isPath(name) → true': 'A name without dots leads to the property that is not there.',
  },
  'index-engine/pages/run-query': {
    'run.fetch: place !== undefined && { after: place } → ({ after: place })':
      'A scan after no place begins at the beginning as well.',
    'run.take: ended === undefined → false': 'When the batch is through, nothing of it is left to be read.',
  },
}
