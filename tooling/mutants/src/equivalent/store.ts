import type { Equivalents } from '../equivalent.ts'

const onlyOurs = 'An error that is not of Looseleaf has no such property.'
const oneOfEach = 'There is at most one that fits.'

const noText = 'A text that is absent is no record either.'
const shortcut = 'A shortcut: without it the same is computed.'
const hasSilent = 'It is said only where a shard is silent.'

const twoAsked = 'The caller asks for the two other answers alone.'

export const store: Equivalents = {
  'store/catalog/policies': {
    'agreeOnPolicies: shards.find((shard) => shard !== undefined) → shards.findLast((shard) => shard !== undefined)':
      'The policies of all answering shards agree by then; with a silent shard, only a warning depends on them.',
  },
  'store/reading/rows/committed-versions': {
    'takeInRowOrder: isWanted = true → isWanted = false': 'The last group sets it.',
    'takeInRowOrder: others[at] ?? rows.length → (others[at])':
      'A slice without an end goes to the last row.',
    'takeInRowOrder.handOver: known.fill(undefined, from, to) → (nothing)': 'It only frees memory earlier.',
  },
  'store/writing/batch/read-back': {
    "readBack: return 'open' → return ''": twoAsked,
    "compareBody: return 'moved' → return ''": twoAsked,
    'compareBody: written?.isWritten → written.isWritten': 'Every entity that is read is one of the attempt.',
    'readBack: attempts.find(({ version }) => rows.some((row) => versionOf(row) === version)) → attempts.findLast(({ version }) => rows.some((row) => versionOf(row) === version))':
      'One attempt at the most was committed.',
    'readBack: tries < MAX_TRIES → tries <= MAX_TRIES': 'One more read after so many makes no difference.',
    'compareBody: rows.find((row) => idKey(row.id) === idKey(id)) → rows.findLast((row) => idKey(row.id) === idKey(id))':
      oneOfEach,
  },
  'store/writing/batch/store-batches': {
    'createStoreBatches.write: removals.isFull → true': 'A background that is not full has room at once.',
    "createStoreBatches.untilWritten: isLooseleafError(error, 'DUPLICATE_KEY') && ids.has(error.holder) → (ids.has(error.holder))":
      'No other error names a holder that a write removes.',
  },
  'store/writing/decide-known': {
    'decideKnown: return undefined → (nothing) (2)': 'A function without a return returns undefined as well.',
  },
  'store/writing/row-failures': {
    'mayBeOfLocalRows: !isLooseleafError(error) || error.unknownOutcome → false':
      'An error that a commit throws has a known outcome, and one that is not of Looseleaf has no such property.',
  },
  'store/writing/write-steps': {
    'findEntity: isPending(decoded) → true': 'To await a value that is there changes nothing.',
  },
  'store/writing/entity-writer': {
    'createEntityWriter.writeInAttempts: guess === undefined → false':
      'Of an entity that was read, the version tells the body.',
    'createEntityWriter.writeInAttempts.committed: superfluous.length === 0 → false': shortcut,
    'createEntityWriter.writeInAttempts: isFirst && ifVersion !== undefined → (ifVersion !== undefined)':
      'The first attempt has taken the state out.',
    'createEntityWriter.writeInAttempts: failures.length === 0 → false': shortcut,
    'createEntityWriter.writeInAttempts: given && decideKnown(reader, { id, version: i…rsion!, body: given }, lane.shard, decideFor) → (decideKnown(reader, { id, version: ifVersion!, body: given }, lane.shard, decideFor))':
      'A body that is absent cannot be decoded, so the entity is read as well.',
    'createEntityWriter.writeInAttempts: catalog.epochs[shard] ?? 0 → (catalog.epochs[shard])':
      'A catalog has an epoch for every shard.',
    'createEntityWriter.writeInAttempts.committed: catalog.epochs[shard] ?? 0 → (catalog.epochs[shard])':
      'A catalog has an epoch for every shard.',
    'createEntityWriter.writeInAttempts: indexed: true → indexed: false':
      'The flag has no reader after a write that wrote nothing.',
    'createEntityWriter.writeInAttempts: (attempts > 0 || wait !== undefined) && now() >= endsAt → (now() >= endsAt)':
      'At the first attempt no time has passed, and a timeout is above 0.',
    'createEntityWriter.writeInAttempts: attempts > 0 → attempts >= 0':
      'At the first attempt no time has passed, and a timeout is above 0.',
  },
  'store/opening/initialise': {
    'initialise: driver.shards[other]?.name → driver.shards[other].name':
      'A shard with a catalog has a name.',
    'initialise: other > 0 → other >= 0': 'Read again, the catalogs are the same.',
  },
  'store/opening/open-store': {
    'openWithout: catalogs.find((catalog) => catalog !== undefined) → catalogs.findLast((catalog) => catalog !== undefined)':
      'All that have answered are of one store by then: each says as much of it.',
    'notNow: error?.message → error.message': hasSilent,
    'notNow: error?.shard → error.shard': hasSilent,
  },
  'store/writing/row-removals': {
    'createRowRemovals.run: background.isFull → true': 'A background that is not full has room at once.',
    'createRowRemovals.settled: last !== undefined && kept.includes(last) → (kept.includes(last))':
      'An absent removal is not among the kept ones.',
  },
  'store/writing/row-change': {
    'splitChange: local === undefined → false': shortcut,
    "diffAll: diff.lost.length === 0 || entry.state !== 'building' → (entry.state !== 'building')": shortcut,
    'diffAll: after === null || diff.gained.length === 0 → (after === null)': shortcut,
    'diffAll: after === null || diff.gained.length === 0 → (diff.gained.length === 0)':
      'A deleted entity gains no row.',
    'diffAll: before === null || catalog.policies.deleteDelayMs === 0 → (catalog.policies.deleteDelayMs === 0)':
      'An entity that loses rows had a body.',
    'diffAll: entry.include && includedBytes(entry, codec.decode(before), codec) → (includedBytes(entry, codec.decode(before), codec))':
      shortcut,
    'splitChange: atOnce.length === 0 → false': shortcut,
  },
  'store/writing/rows-at-once': {
    'lostRowsOf: isLosing && own !== undefined → (own !== undefined)': shortcut,
    'lostRowsOf: own?.mayDefer → own.mayDefer': 'A shard without a catalog has no steps.',
    "splitLostRows.mayGo: steps.get(row.entry.table) === 'on' && !row.entry.unique → (steps.get(row.entry.table) === 'on')":
      'Claims are never exact.',
    'lostRowsOf: deletedNow.length > 0 || deletedLater.length > 0 → true': shortcut,
    'lostRowsOf: steps.size === 0 → false': shortcut,
    'lostRowsOf.keysAfter: rows.keysAfter[place] ?? NONE → (rows.keysAfter[place])':
      'A change that loses rows has keys for every index of its catalog.',
    'splitLostRows: moved.length > 0 → true': shortcut,
    'splitLostRows: lostWhole.length === 0 && gone.length === 0 → false': shortcut,
  },
  'store/writing/superseded-attempts': {
    'superfluousRows: supersededRows.length === 0 → false': shortcut,
    'superfluousRows: indexes.find((candidate) => candidate.table === table) → indexes.findLast((candidate) => candidate.table === table)':
      oneOfEach,
  },
  'store/writing/unknown-outcome': {
    'unknownOutcome: isLooseleafError(cause) → true': onlyOurs,
  },
  'protocol/claims': {
    'takeKeyAt: holder.row !== undefined && mayBeLost(context, holder.row, readAt) → (mayBeLost(context, holder.row, readAt))':
      'Every stamp is above the version of an absent holder, which counts as in flight.',
    'ignoreUnknownOutcome: !isLooseleafError(error) || !error.unknownOutcome → (!error.unknownOutcome)':
      onlyOurs,
  },
  'protocol/fence': {
    'fence: base === 0 → false': 'An entity that is found there refuses the insert as well.',
  },
  'protocol/index-rows': {
    'failureUnlessDropped: indexes.find((entry) => entry.table === table) → indexes.findLast((entry) => entry.table === table)':
      oneOfEach,
  },
  'driver-kysely/entities/entity-calls': {
    'entityCalls.select: rest.length === 0 → false': shortcut,
  },
  'protocol/consumers/consumer-progress': {
    "readProgress: states.get(task)?.progress ?? '' → (states.get(task)?.progress)": noText,
  },
  'protocol/consumers/registrations': {
    "readRegistry: (await shardAt(context, shard).tasks.load(REGISTRY_TASK, options))?.progress ?? '' → ((await shardAt(context, shard).tasks.load(REGISTRY_TASK, options))?.progress)":
      noText,
    'registrationIn: registry.get(name) ?? [] → (registry.get(name))': 'The order puts an absent one last.',
  },
  'protocol/row-pages': {
    'pagesOfRows: place !== undefined && { after: place } → ({ after: place })':
      'A scan after no place begins at the beginning as well.',
  },
  'protocol/shard-marks': {
    "readMarks.markOf: states.get(task)?.progress ?? '' → (states.get(task)?.progress)": noText,
    'readMarks: return undefined → (nothing)': 'A function without a return returns undefined as well.',
  },
  'protocol/write-early': {
    'beforeCommit: !isLooseleafError(error) || !error.unknownOutcome → (!error.unknownOutcome)': onlyOurs,
  },
  'store/writing/put-many': {
    'putMany.putOne: previous !== undefined → true': 'To await a value that is there changes nothing.',
  },
  'store/writing/background': {
    'createBackground.end: waiting.length === 0 || running.size > limit → (running.size > limit)': shortcut,
    'createBackground.end: waiting = [] → (nothing)':
      'To let the same caller in twice changes nothing; it only frees memory.',
  },
  'store/calls/local-share': {
    'createLocalShare: isAlone → true': 'The first row that is seen decides the share.',
    'createLocalShare.entitiesPay: longShare < MANY_LONG → longShare <= MANY_LONG':
      'No sum of such steps is exactly a quarter.',
  },
}
