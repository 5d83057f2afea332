import type { Equivalents } from '../equivalent.ts'

const hasEpochs = 'A catalog has an epoch for every shard.'
const noText = 'A text that is absent is no record either.'
const oneOfEach = 'There is at most one that fits.'
const hasMoves = 'A layout has moves from its first move on.'
const shortcut = 'A shortcut: without it the same is computed.'
const noTimePassed = 'At the first attempt no time has passed, and a timeout is above 0.'
const isComing = 'A departure that is due has a record that comes.'

/** Reasons of moves, batches and local rows. */
export const moves: Equivalents = {
  'changes/consumer/due-rows': {
    'createReadDueRows: rows.get(id)?.version → rows.get(id).version': 'Every due change has a row by then.',
  },
  'changes/consumer/row-handler': {
    'createRowHandler.isWanted: partition.failing.size > 0 && partition.failing.has(formatId(row.id)) → (partition.failing.has(formatId(row.id)))':
      'A shortcut: without it the same is computed.',
  },
  'changes/consumer/places': {
    'earliestOf: comparePlaces(place, earliest) < 0 → comparePlaces(place, earliest) <= 0':
      'Two places that compare as equal are the same.',
  },
  'driver-kysely/local-rows/local-rows': {
    'createLocalRows.writesOf: writes === undefined → true':
      'The statements of a table are the same whenever they are made.',
    'createLocalRows.writesOf: byTable.set(spec.table, writes) → (nothing)':
      'The statements of a table are the same whenever they are made.',
    'createLocalRows.statementsOf: tables.size === 0 → false': 'A shortcut: without it the same is computed.',
    'createLocalRows.statementsOf: a.spec.table < b.spec.table → a.spec.table <= b.spec.table':
      'No two groups have one table.',
  },
  'mover/finished-moves': {
    "finishedMoves: states.get(moveTask(id))?.progress ?? '' → (states.get(moveTask(id))?.progress)": noText,
  },
  'mover/move-report': {
    "readMove: task?.progress ?? '' → (task?.progress)": noText,
    "readMove: states.get(waitsTask(id))?.progress ?? '' → (states.get(waitsTask(id))?.progress)": noText,
  },
  'mover/open-moves': {
    "openMoves: states.get(moveTask(id))?.progress ?? '' → (states.get(moveTask(id))?.progress)": noText,
  },
  'mover/plan/target-checks': {
    'refusalOf: context.catalog.current().epochs[number] ?? 0 → (context.catalog.current().epochs[number])':
      hasEpochs,
  },
  'protocol/consumers/consumer-progress': {
    'readProgress: names.length === 0 → false': 'A shortcut: without it nothing is read either.',
  },
  'protocol/local-rows': {
    'splitRows: rows.length === 0 → false': 'A shortcut: without it the same is computed.',
    'byTable: rows.length === 0 → false': 'An empty list of tables is the same as none.',
  },
  'protocol/moves/announce': {
    'requireUnannounced: moves.find((move) => withoutRanges(buckets, move.buckets) !== buckets) → moves.findLast((move) => withoutRanges(buckets, move.buckets) !== buckets)':
      'The plan is refused, whichever of the moves is named.',
    'changeMove: layout.moves?.find → layout.moves.find': hasMoves,
    'changePhase: layout.moves?.map → layout.moves.map': hasMoves,
    'withoutMove: layout.moves?.filter → layout.moves.filter': hasMoves,
    'changeMove: layout.moves?.find((move) => move.id === id) → layout.moves?.findLast((move) => move.id === id)':
      oneOfEach,
  },
  'protocol/moves/begin-target': {
    'lostByTarget: records.find((record) => record.emptied !== undefined) → records.findLast((record) => record.emptied !== undefined)':
      oneOfEach,
    'begun: coming?.afterAddedId ?? 0 → (coming?.afterAddedId)': isComing,
    'begun: coming?.afterAddedId → coming.afterAddedId': isComing,
  },
  'protocol/moves/discard': {
    'discardPending: removals.length > 0 → true': 'To delete nothing changes nothing.',
  },
  'protocol/moves/empty': {
    'foreignBuckets: layout?.moves ?? [] → (layout?.moves)': hasMoves,
  },
  'protocol/moves/noted-waits': {
    'noteWait: layout?.moves?.find(({ buckets }) => rangesInclude(buckets, String(bucket))) → layout?.moves?.findLast(({ buckets }) => rangesInclude(buckets, String(bucket)))':
      oneOfEach,
  },
  'protocol/moves/owner-faults': {
    'faultsIn: count === undefined || layout === undefined |…y((catalog) => catalog?.serves === undefined) → (catalogs.every((catalog) => catalog?.serves === undefined))':
      'A shard has such a record only in a store with a layout of buckets.',
  },
  'protocol/moves/own-buckets': {
    'announcedIn: catalog.layout?.moves?.find((move) => move.id === id) → catalog.layout?.moves?.findLast((move) => move.id === id)':
      oneOfEach,
  },
  'protocol/moves/until-writable': {
    'createBucketWait.waitOnce: epochs[shard] ?? 0 → (epochs[shard])': hasEpochs,
  },
  'store/reading/rows/covered-reader': {
    'coveredReader.partOf.part: plan.rowsTellPlaces → false':
      'A shortcut: the place follows from the part too.',
  },
  'store/shards/add-shard': {
    'changeLayout: contents.layout && contents.indexes.every(isPrepared) → (contents.indexes.every(isPrepared))':
      'A store without a layout is refused before.',
    'hasJoined: layout?.shards → layout.shards': 'A store without a layout is refused before.',
  },
  'store/writing/batch/batch-item': {
    "(module): Symbol.for('looseleaf.batchWrite') → Symbol.for('')":
      'Every copy of the package has the same symbol by any name.',
  },
  'store/writing/batch/batch-writer': {
    'createBatchWriter.claim: keys.length === 0 → false': shortcut,
    'createBatchWriter.writeInAttempts: (attempts > 0 || wait !== undefined) && now() >= endsAt → (now() >= endsAt)':
      noTimePassed,
    'createBatchWriter.writeInAttempts: attempts > 0 → attempts >= 0': noTimePassed,
    'createBatchWriter.writeInAttempts: tries++ → (nothing)': 'The look that follows has a final answer.',
    'createBatchWriter.committed: catalog.epochs[shard] ?? 0 → (catalog.epochs[shard])': hasEpochs,
    'createBatchWriter.writeInAttempts: catalog.epochs[shard] ?? 0 → (catalog.epochs[shard])': hasEpochs,
  },
  'store/writing/batch/planned-items': {
    'withoutClaims: row.version === undefined || row.local === undefined → false':
      'Local rows without a list write nothing.',
    'withoutClaims: row.version === undefined || row.local === undefined → (row.version === undefined)':
      'Local rows without a list write nothing.',
    'withoutClaims: row.version === undefined || row.local === undefined → (row.local === undefined)':
      'Only a written row has local rows.',
  },
  'store/writing/split-attempt': {
    'splitAttempt: atOnce.length === 0 → false': 'A shortcut: without it the same is computed.',
  },
  'store/writing/batch/batch-keys': {
    'givenUpKeys: rows.deletedNow .filter(({ entry }) => entry.unique) → rows.deletedNow':
      'Only keys of unique tables are looked for.',
    'passedKeys: rows.deletedNow .filter(({ entry }) => entry.unique) → rows.deletedNow':
      'Only keys of unique tables are looked for.',
    'givenUpKeys: given.size > 0 && given.has(identityOf(entry.table, key)) → (given.has(identityOf(entry.table, key)))':
      shortcut,
  },
}
