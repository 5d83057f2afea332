import type { Equivalents } from '../equivalent.ts'

const noTime = 'To wait for no time changes nothing.'
const noWork = 'With nothing to look at, nothing is sent and nothing changed.'
const oneMore = 'One row more or less in hand makes no difference to the outcome.'

export const cleaner: Equivalents = {
  'cleaner/check/check-index': {
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
    'waitForFailoverWindow: isFilled && delayMs > 0 → (isFilled)': noTime,
    'waitForFailoverWindow: delayMs > 0 → delayMs >= 0': noTime,
  },
}
