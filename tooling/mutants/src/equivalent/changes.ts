import type { Equivalents } from '../equivalent.ts'

const shortcut = 'A shortcut: without it the same is computed.'
const noText = 'A text that is absent is no record either.'
const isFailing = 'Every due change is failing.'
const notOwned = 'To save the task of another process changes nothing.'
const samePlace = 'Two places that compare as equal are the same.'
const wasRead = 'The letters of every partition were read.'
const wasReadByStore = 'A store has read every item.'

/** Reasons of consumers and watched pages. */
export const changes: Equivalents = {
  'changes/consumer/busy-partitions': {
    'createBusyPartitions.waitWithLeases: Number.isFinite(forMs) → true':
      'A sleep without an end ends nothing.',
    'createBusyPartitions.settled: await waitWithLeases(all) → void waitWithLeases(all)':
      'The leases are renewed beside the work as well.',
  },
  'changes/consumer/consume': {
    'consume.onRoundError: !isLooseleafError(error) || !ENDS.has(error.code) → (!ENDS.has(error.code))':
      'No other error has one of these codes.',
  },
  'changes/consumer/due-rows': {
    'createReadDueRows: rows.get(id)?.version → rows.get(id).version': 'Every due change has a row by then.',
    'createReadDueRows: failing.get(id)?.version ?? 0 → (failing.get(id)?.version)': isFailing,
    'createReadDueRows: failing.get(id)?.version → failing.get(id).version': isFailing,
  },
  'changes/consumer/partition-leases': {
    'isUnanswered: isLooseleafError(error) && error.unknownOutcome → (error.unknownOutcome)':
      'No other error has an unknown outcome.',
    'createPartitionLeases.write: needsNewOwner ||= isUnanswered(error) → needsNewOwner = isUnanswered(error)':
      'A write that was refused needs no other owner.',
    'createPartitionLeases.changeOwner: isWaiting → true': notOwned,
    'createPartitionLeases.changeOwner.become: isWaiting = kept.has(waiting) → (nothing)': notOwned,
    "createPartitionLeases.readShares: states.get(REGISTRY_TASK)?.progress ?? '' → (states.get(REGISTRY_TASK)?.progress)":
      noText,
    'createPartitionLeases.readShares: waiter === owner → false':
      'The surplus of a process over itself is none.',
    'createPartitionLeases.releaseSurplus: a < b → a <= b': 'No two processes are one owner.',
    'createPartitionLeases.releaseSurplus: richest?.[0] → richest[0]':
      'The process itself is among the shares.',
    'createPartitionLeases.releaseSurplus: shares.get(waiter) ?? 0 → (shares.get(waiter))':
      'The process that waits has a share, of 0 at least.',
    'createPartitionLeases.updateWaiting: (await tasks().claim(task, owner, leaseMs, options)) !== undefined → true':
      notOwned,
  },
  'changes/consumer/places': {
    'latestOf: comparePlaces(place, latest) > 0 → comparePlaces(place, latest) >= 0': samePlace,
    'earliestOf: comparePlaces(place, earliest) < 0 → comparePlaces(place, earliest) <= 0': samePlace,
  },
  'changes/consumer/replays': {
    'createReplays.readWanted: letters.moved.get(partition.number) ?? [] → (letters.moved.get(partition.number))':
      wasRead,
    'createReplays.readWanted: letters.dead.get(partition.number)?.filter((l…r) => letter.replay && isTaken(letter)) ?? [] → (letters.dead.get(partition.number)?.filter((letter) => letter.replay && isTaken(letter)))':
      wasRead,
    'createReplays.readWanted: letters.dead.get(partition.number)?.filter → letters.dead.get(partition.number).filter':
      wasRead,
    'createReplays.withoutMisplaced: partition.failing.get(id) ?? [] → (partition.failing.get(id))':
      isFailing,
  },
  'changes/consumer/row-handler': {
    'createRowHandler.isWanted: partition.failing.size > 0 && partition.failing.has(formatId(row.id)) → (partition.failing.has(formatId(row.id)))':
      shortcut,
    'createRowHandler.giveUp: partition.failing.get(failing.id) === failing → true':
      'Nothing else of the partition is in flight.',
    'createRowHandler.callHandler: isPending(decoded) → true':
      'To await a change that is there changes nothing.',
  },
  'changes/consumer/store-progress': {
    'storeProgress.hasHandled.isOfThese: bucketsOf(context.router)?.ofId → bucketsOf(context.router).ofId':
      'No bucket moves in a store whose router has none.',
  },
  'changes/records/dead-letters': {
    "foundLetters: state?.progress ?? '' → (state?.progress)": noText,
    'foundLetters: found.get(id) ?? -1 → (found.get(id))':
      'No version compares with that of a letter that is not there.',
    "readLetters.lettersOf: states.get(name)?.progress ?? '' → (states.get(name)?.progress)": noText,
    'editLetters: dead.get(partition)?.some → dead.get(partition).some': wasRead,
    "lettersFromText: toObject(item)?.['replay'] → toObject(item)['replay']": 'Only an object is a letter.',
  },
  'changes/records/registry': {
    'register: isComplete(complete) → false': 'Another reading finds the same registration.',
    'beginningOf: registry.get(consumer)) .find((registration) => registratio → registry.get(consumer)) .findLast((registration) => registratio':
      'Complete registrations of one incarnation are the same.',
    "unregister: removed.find((answer) => answer.status === 'rejected') → removed.findLast((answer) => answer.status === 'rejected')":
      'The call is refused, whichever of the errors is told.',
    'unregister.remove.isKept: name !== consumer || !dropped.has(incarnation) → (!dropped.has(incarnation))':
      'No other consumer has one of these incarnations.',
  },
  'changes/report/manage-consumers': {
    "dropConsumer: claimed.find((answer) => answer.status === 'rejected') → claimed.findLast((answer) => answer.status === 'rejected')":
      'The call is refused, whichever of the errors is told.',
    "dropConsumer: answer.status === 'fulfilled' → true": 'A refused claim has thrown before.',
    "dropConsumer: answer?.status !== 'fulfilled' → false": 'An error of a restoration is not told.',
    'dropConsumer: answer?.status → answer.status': 'Every shard was asked for a claim.',
    'dropConsumer.requireAll: shards.find((_, place) => sizes[place]! < taskNames.length) → shards.findLast((_, place) => sizes[place]! < taskNames.length)':
      'The call is refused, whichever of the errors is told.',
  },
  'changes/watch/expiry-timer': {
    'createExpiryTimer.wait: left <= 0 → left < 0': 'To wait for no time changes nothing.',
  },
  'changes/watch/watched-page': {
    'createCurrentPage.refresh: !isLooseleafError(error) || !error.retryable → (!error.retryable)':
      'No other error is retryable.',
    'createCurrentPage.changed: isReading → true': 'The next query forgets them.',
    'createCurrentPage.changed: !isStale && rows.some((row) => concerns(row, shard)) → (rows.some((row) => concerns(row, shard)))':
      shortcut,
    'createCurrentPage.changed: isStale → true': 'No query begins while the page is not stale.',
    'createCurrentPage.after.stopWaiting: waiting.delete(waiter) → (nothing)':
      'To tell a loop again changes nothing; it only frees memory.',
    'createCurrentPage.leave: --watchers === 0 && failure === undefined → (--watchers === 0)':
      'To end again changes nothing.',
    'versionOf: metaOf(item)?.version ?? 0 → (metaOf(item)?.version)': wasReadByStore,
    'versionOf: metaOf(item)?.version → metaOf(item).version': wasReadByStore,
  },
}
