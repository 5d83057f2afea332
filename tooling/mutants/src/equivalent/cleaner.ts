import type { Equivalents } from '../equivalent.ts'

const noTime = 'To wait for no time changes nothing.'
const noWork = 'With nothing to look at, nothing is sent and nothing changed.'
const oneMore = 'One row more or less in hand makes no difference to the outcome.'

export const cleaner: Equivalents = {
  'cleaner/check/check-index': {
    "checkEntities: direction: 'missing' → direction: ''":
      'There are two directions, and this is not the other.',
    'compare: cleanableIndexes(context).find((other) => isClaimsOf(other, entry)) → cleanableIndexes(context).findLast((other) => isClaimsOf(other, entry))':
      'An index has one table of claims.',
    'compare: entry === undefined → false': 'The look for a missing index has thrown before.',
    "compare: new LooseleafError('INDEX_NOT_FOUND', `The store has no index ${JSON.stringify(name)}.`) → new LooseleafError('', `The store has no index ${JSON.stringify(name)}.`)":
      'The look for a missing index has thrown before.',
    "checkRows: direction: 'dangling' → direction: ''":
      'There are two directions, and this is not the other.',
    'createSuspects.areMany: candidates.size >= CANDIDATES_AT_ONCE → candidates.size > CANDIDATES_AT_ONCE':
      oneMore,
  },
  'cleaner/check/confirm': {
    'agrees: return true → return false': 'A correct entity has no row to settle.',
    'lookAgain: first.get(idKey(row.entity.id))?.dangling → first.get(idKey(row.entity.id)).dangling':
      'Only candidates are looked at.',
  },
  'cleaner/repair/kept-removals': {
    'createKeptRemovals.validRemovals: removals.length === 0 → false': noWork,
    'createKeptRemovals.settle: waiting?.onWait → waiting.onWait': 'Without it there is one pause.',
  },
  'cleaner/tail/left-to-writers': {
    'createLeftToWriters.overdue: found[i] ?? [] → (found[i])': 'A look-up answers a list for each index.',
    "textOf: [shard, table, idKey(entityId), version, keyIdentity(key)].join(' ') → [shard, table, idKey(entityId), version, keyIdentity(key)].join('')":
      "Tables begin with a letter, and ids, and versions of the writers' clocks, are each of one length.",
  },
  'cleaner/repair/needed-again': {
    'neededAgain: byEntity.get(idKey(entity.id)) ?? [] → (byEntity.get(idKey(entity.id)))':
      'Only the entities of these rows are read.',
  },
  'cleaner/repair/reconcile': {
    'reconcile: remaining.length > 0 && look < MAX_LOOKS → (look < MAX_LOOKS)': noWork,
  },
  'cleaner/clean/shard-scans': {
    'scanEntities: readings.dropLost() → (nothing)':
      'The end of the round takes the same buckets away, and what was read of them has its rows.',
    "endRound: phase === 'entities' || part.missing === 0 → (part.missing === 0)":
      'Only the check counts missing rows.',
    'workOnPage: leases[0]?.part.addedId ?? 0 → (leases[0]?.part.addedId)': 'No group is empty.',
    'workOnPage: leases[0]?.part → leases[0].part': 'No group is empty.',
    'workOnPage: targets.find(isBuilding) → targets.findLast(isBuilding)':
      'Whichever of them is named, none of them can be filled.',
  },
  'cleaner/sweep/sweep-entities': {
    'sweepDerived: swept.length > 0 → true': noWork,
    'sweepDerived: added.length === 0 && movedAlready.length === 0 → false': noWork,
    'sweepDerived: moved.size > 0 → true': noWork,
    'fillDurably: moved.length === 0 → false': noWork,
    'fillDurably: remaining.length > 0 && look < MAX_LOOKS → (look < MAX_LOOKS)': noWork,
  },
  'cleaner/look/dangling-among': {
    'danglingAmong: entity?.expected → entity.expected': 'There is an answer for every id that is asked for.',
  },
  'cleaner/tail/tail': {
    'createTail.workOn: revisits.size < MAX_REVISITS → revisits.size <= MAX_REVISITS': oneMore,
    'createTail.revisit: due.length > 0 → true': noWork,
  },
  'cleaner/tail/tail-window': {
    'updatedPages: since < until → true': 'An empty range of times has no rows.',
    'updatedPages: since < until → since <= until': 'An empty range of times has no rows.',
    'updatedPages: window.gap.before.updated < oldest → false':
      'A gap that is too old ends without a read either way.',
  },
  'cleaner/clean/place-text': {
    'placeFromText: !Array.isArray(parsed) → false':
      'A value that is no list fails in the next step, with the same answer.',
    "valueFromJson: new TypeError('Not a key value.') → new TypeError('')":
      'It is caught, and nobody reads it.',
  },
  'cleaner/drain/drain-pending': {
    'writeRows: throwIfAborted(pass.signal) → (nothing)': 'The next call ends with the signal as well.',
    'entryOf: context.catalog.current().indexes.find((entry) => entry.table === table) → context.catalog.current().indexes.findLast((entry) => entry.table === table)':
      'There is at most one that fits.',
  },
  'cleaner/clean/clean-index': {
    'finish: filled.length > 0 && !(await makeReady(contex… filled, latestContentsEpoch(catalog), call)) → (!(await makeReady(context, filled, latestContentsEpoch(catalog), call)))':
      noWork,
    "finish.isFilled: end.entry.state === 'building' && end.parts.every(({ duplicates }) => duplicates === 0) → (end.parts.every(({ duplicates }) => duplicates === 0))":
      'An index that is ready stays so.',
    'finish: mine.length < ends.length → true': 'The catalog is only read once more.',
    'finish: mine.length < ends.length → mine.length <= ends.length': 'The catalog is only read once more.',
    'waitForFailoverWindow: isFilled && delayMs > 0 → (isFilled)': noTime,
    'waitForFailoverWindow: delayMs > 0 → delayMs >= 0': noTime,
  },
  'cleaner/clean/complete-phase': {
    "workOnShard: upTo === 'dangling' || unread.size === 0 → (unread.size === 0)":
      'No bucket counts as unread in that phase.',
    'workOnShard: phasesUpTo(upTo).find((candidate) => leases.some(({ part }) => part.phase === candidate)) → phasesUpTo(upTo).findLast((candidate) => leas…some(({ part }) => part.phase === candidate))':
      'The parts of the other phase come next.',
    'openParts: past.filter((part) => part !== undefined) → past': 'A part that is past the phase is there.',
    "openParts: buckets !== '' → true": 'An index without unread buckets adds no shard.',
    'openParts: unread.size > 0 → true': 'Without unread buckets no shard is added.',
  },
  'cleaner/clean/readings': {
    'createReadings.read: !sets.has(text) → true': 'It makes an equal set once more.',
    'createReadings.dropLost: kept === watch.kept.size → false': 'The part keeps the buckets that it has.',
    'createReadings.dropLost: kept = watch.kept.size → (nothing)': 'The part keeps the buckets that it has.',
    'createReadings.of.isRead: router.buckets === undefined || watch.catalog.layout?.moves === undefined → (watch.catalog.layout?.moves === undefined)':
      'A store without buckets has no moves.',
  },
  'cleaner/clean/part-lease': {
    'loadParts: state?.owner → state.owner': 'A part is parsed from a state.',
    'claimParts: leases.find((lease) => lease.target === target) → leases.findLast((lease) => lease.target === target)':
      'An index has one lease.',
  },
  'cleaner/clean/pace': {
    "paceFrom: throttleReasons.find((reason) => reason === found['throttledBy']) → throttleReasons.findLast((reason) => reason === found['throttledBy'])":
      'All reasons differ.',
  },
  'cleaner/clean/part': {
    'partFromText: phases.find((name) => name === stage) → phases.findLast((name) => name === stage)':
      'All phases differ.',
  },
  'cleaner/check/check-page': {
    "addMissing: direction: 'missing' → direction: ''":
      'There are two directions, and this is not the other.',
    'checkEntityPage: missing.length === 0 → false': noWork,
  },
  'cleaner/look/inspect': {
    'compare: byEntity.size === 0 → false': 'Without rows none is found.',
    'compare: expected.length === 0 && existing.length === 0 → false': noWork,
  },
  'cleaner/look/still-missing': {
    'stillMissing: missing.length === 0 → false': noWork,
  },
  'cleaner/look/derive-entity': {
    'expectedRows: keys.length === 0 → false': 'An index without rows of the entity expects none either way.',
  },
  'cleaner/expire/expire-shard': {
    'deleteAsRead: due.length === 0 → false': noWork,
    'expireShard: after !== undefined → true':
      'Without a place the next round begins at the first row as well.',
  },
  'cleaner/pass/tuning': {
    'tuningOf: Object.hasOwn(TUNING, name) && value !== undefined → (value !== undefined)':
      'Nobody reads other names from a tuning.',
  },
  'cleaner/pass/pass': {
    'createPass.report: context.driver.shards[context.catalog.latest().placement.shardOfId(id)]?.name → context.driver.shards[context.catalog.latest().placement.shardOfId(id)].name':
      'An entity is placed on a shard of the store.',
  },
  'cleaner/purge/purge-tombstones': {
    'createPurge: more && last !== undefined → (more)': 'A full page has a last row.',
  },
  'cleaner/tampering/keep-witnesses': {
    "createWitnessKeeper.missingWitnesses: direction: 'missing' → direction: ''":
      'There are two directions, and this is not the other.',
  },
  'cleaner/background/tails': {
    'createTails.follow: context.driver.removed?.has → context.driver.removed.has':
      'The set of removed shards is absent only while a store is opened.',
  },
}
