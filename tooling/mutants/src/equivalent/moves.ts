import type { Equivalents } from '../equivalent.ts'

const hasEpochs = 'A catalog has an epoch for every shard.'
const noText = 'A text that is absent is no record either.'
const oneOfEach = 'There is at most one that fits.'
const hasLayout = 'A store without a layout is refused before.'
const hasMoves = 'A layout has moves from its first move on.'
const shortcut = 'A shortcut: without it the same is computed.'
const noTimePassed = 'At the first attempt no time has passed, and a timeout is above 0.'
const hasShards = 'A layout has every shard of the driver.'
const isDecided = 'The change decides before it is read.'
const comesWhole = 'A record comes whole, and at the shard that it names.'
const notSent = 'A statement of an aborted call is not sent.'
const isComing = 'A departure that is due has a record that comes.'

/** Reasons of moves, batches and local rows. */
export const moves: Equivalents = {
  'driver-kysely/local-rows/local-rows': {
    'createLocalRows.statementsOf: tables.size === 0 → false': 'A shortcut: without it the same is computed.',
    'createLocalRows.statementsOf: a.spec.table < b.spec.table → a.spec.table <= b.spec.table':
      'No two groups have one table.',
  },
  'mover/copier': {
    "leaveAll: lost.buckets === (attempt?.lost ?? '') → false":
      'Another attempt at the same buckets changes nothing else.',
    "leaveAll: attempt?.lost ?? '' → (attempt?.lost)": 'Another attempt at no buckets changes nothing.',
    'createCopier: isUsed = false → isUsed = true':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.goOn: isUsed = false → (nothing)':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.goOn: isUsed = false → isUsed = true':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.beginPass: isUsed → true':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.beginPass: isUsed = false → (nothing)':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.beginPass: isUsed = false → isUsed = true':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.copy: done.copied > 0 → true':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.copy: done.copied > 0 → done.copied >= 0':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.copy: isUsed = false → (nothing)':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.copy: isUsed = false → isUsed = true':
      'Another pass than needed costs two statements, and changes nothing.',
    'createCopier.copy: isUsed ||= done.copied > 0 → isUsed = done.copied > 0':
      'A pass begins before each copy.',
  },
  'mover/copy-faults': {
    'copyAnew: await lease.save() → (nothing)': 'The end of the lease saves the record, too.',
    'copyAnew: await lease.save() → void lease.save()': 'The end of the lease saves the record, too.',
    'differentCopies: await copyAnew(job) → void copyAnew(job)':
      'The end of the lease saves the record, too.',
    'lostCopies: await copyAnew(job) → void copyAnew(job)': 'The end of the lease saves the record, too.',
  },
  'mover/copy-move': {
    'compareRows: later > 0 → true': 'It only waits before the next pass.',
    'compareCopies: coming?.afterAddedId ?? 0 → (coming?.afterAddedId)':
      'A move that compares its copies has a record that comes.',
    'compareCopies: coming?.afterAddedId → coming.afterAddedId':
      'A move that compares its copies has a record that comes.',
  },
  'mover/finished-moves': {
    "finishedMoves: step === 'done' → true": 'The phase of a move that is over is not looked at.',
    "finishedMoves: step === 'done' → false": 'The phase of a move that is over is not looked at.',
    "finishedMoves: step === 'done' ? 'target' : 'undoing' → step === 'done' ? '' : 'undoing'":
      'The phase of a move that is over is not looked at.',
    "finishedMoves: step === 'done' ? 'target' : 'undoing' → step === 'done' ? 'target' : ''":
      'The phase of a move that is over is not looked at.',
    "finishedMoves: states.get(moveTask(id))?.progress ?? '' → (states.get(moveTask(id))?.progress)": noText,
  },
  'mover/move-lease': {
    "(module): Symbol('lease lost') → Symbol('')": 'Only the symbol itself is compared.',
    'isLeaseLost: error instanceof LooseleafError && error.cause === LEASE_LOST → (error.cause === LEASE_LOST)':
      'No other error has this cause.',
    "claimMove.save: 'CONFLICT' → ''": 'No caller sees this error.',
  },
  'mover/move-report': {
    "readMove: task?.progress ?? '' → (task?.progress)": noText,
    "readMove: states.get(waitsTask(id))?.progress ?? '' → (states.get(waitsTask(id))?.progress)": noText,
  },
  'mover/open-moves': {
    'findMove: (await openMoves(context, options)).find(({ move }) => move.id === id) → (await openMoves(context, options)).findLast(({ move }) => move.id === id)':
      oneOfEach,
    "openMoves: phase: 'target' → phase: ''":
      'The phase of a move whose announcement has ended is not looked at.',
    "openMoves: states.get(moveTask(id))?.progress ?? '' → (states.get(moveTask(id))?.progress)": noText,
  },
  'mover/plan/spread': {
    'levelOf: weight > level → weight >= level':
      'A shard at the level does not change the mean of the others.',
  },
  'mover/progress': {
    'createMeter.report: events.isWanted → true': 'An event that nobody wants is told to nobody.',
  },
  'mover/walk-move': {
    'enter: isLastStep(step) → true':
      'Reports tell the time of moves that are over alone, and the last step sets it anew.',
    'fill: announcement.at === undefined → true': 'To complete an announcement again changes nothing.',
  },
  'mover/walk-plans': {
    'drainShard.left: shards[number]?.state → shards[number].state':
      'A shard that is drained is in the layout.',
  },
  'protocol/consumers/consumer-progress': {
    'readProgress: names.length === 0 → false': 'A shortcut: without it nothing is read either.',
  },
  'protocol/local-rows': {
    'splitRows: rows.length === 0 → false': 'A shortcut: without it the same is computed.',
    'byTable: rows.length === 0 → false': 'An empty list of tables is the same as none.',
  },
  'protocol/moves/announce': {
    'announceMove: moves.find((move) => isKept(move, plan)) → moves.findLast((move) => isKept(move, plan))':
      oneOfEach,
    'hasMove: layout?.moves → layout.moves': hasLayout,
    'hadMove: layout?.shards → layout.shards': hasLayout,
    'hadMove: layout?.shards[to]?.buckets → layout?.shards[to].buckets': hasShards,
    "objectionsTo: !isLooseleafError(error) || !['BAD_OPTION', 'CONFLICT'].includes(error.code) → (!['BAD_OPTION', 'CONFLICT'].includes(error.code))":
      'No other error has one of these codes.',
    'requireServing: shards[to]?.state → shards[to].state': hasShards,
    'requireOwned: shards[from]?.buckets → shards[from].buckets': hasShards,
    'requireUnannounced: moves.find((move) => withoutRanges(buckets, move.buckets) !== buckets) → moves.findLast((move) => withoutRanges(buckets, move.buckets) !== buckets)':
      'The plan is refused, whichever of the moves is named.',
    'changeMove: layout.moves?.find → layout.moves.find': hasMoves,
    'changePhase: layout.moves?.map → layout.moves.map': hasMoves,
    'withoutMove: layout.moves?.filter → layout.moves.filter': hasMoves,
    'changeMove: layout.moves?.find((move) => isSameMove(move, known)) → layout.moves?.findLast((move) => isSameMove(move, known))':
      oneOfEach,
  },
  'protocol/moves/begin-target': {
    'dueFrom.isDue: away.to === number && hasAttempt(target.serves.coming, away) → (hasAttempt(target.serves.coming, away))':
      comesWhole,
    'begun: serves.coming ?? [] → (serves.coming)': isComing,
    'lostByTarget: records.find((record) => record.emptied !== undefined) → records.findLast((record) => record.emptied !== undefined)':
      oneOfEach,
    'begun: coming?.afterAddedId ?? 0 → (coming?.afterAddedId)': isComing,
    'begun: coming?.afterAddedId → coming.afterAddedId': isComing,
  },
  'protocol/moves/discard': {
    'pagesOfPending: page.length > 0 → true': 'A page without rows needs no statement.',
    'discardPending: removals.length > 0 → true': 'To delete nothing changes nothing.',
  },
  'protocol/moves/draining': {
    'requireDrainable: shards[number]?.state → shards[number].state':
      'Its callers refuse a shard that is not in the layout before.',
  },
  'protocol/moves/empty': {
    "discardAll: [noDiscardProgress(), ''] → []": 'The first buckets begin with progress of their own.',
    'foreignBuckets: layout?.moves ?? [] → (layout?.moves)': hasMoves,
    'foreignBuckets: layout?.moves → layout.moves': hasLayout,
    'foreignBuckets: layout?.shards → layout.shards': hasLayout,
    'foreignBuckets: layout?.shards[shardNumber]?.buckets → layout?.shards[shardNumber].buckets': hasShards,
    "foreignBuckets: layout?.shards[shardNumber]?.buckets ?? '' → (layout?.shards[shardNumber]?.buckets)":
      'Every shard of a store with buckets has a text of them.',
  },
  'protocol/moves/noted-waits': {
    'noteWait: bucketsOf(context.router)?.ofId → bucketsOf(context.router).ofId':
      'No call waits in a store whose router has no buckets.',
    'noteWait: layout?.moves → layout.moves': 'No call waits in a store without a layout.',
    'noteWait: layout?.moves?.find → layout?.moves.find': hasMoves,
    'follow: leave() → (nothing)': 'Work that has ended does not hold up a store that closes.',
    'noteWait: layout?.moves?.find(({ buckets }) => rangesInclude(buckets, String(bucket))) → layout?.moves?.findLast(({ buckets }) => rangesInclude(buckets, String(bucket)))':
      oneOfEach,
  },
  'protocol/moves/owner-faults': {
    'ownerFaults: seen.length === 0 → false': 'A shortcut: without it the same is computed.',
    "ownerFaults: textOf('…') → textOf('')": 'It only tells texts apart.',
    'lackingIn: away.to === to && hasAttempt(target?.serves?.coming, away) → (away.to === to)': comesWhole,
    'lackingIn: away.to === to && hasAttempt(target?.serves?.coming, away) → (hasAttempt(target?.serves?.coming, away))':
      comesWhole,
    'lackingIn: due === undefined || due.length === 0 → (due === undefined)':
      'A shortcut: without it the same is computed.',
    'faultsIn: count === undefined || layout === undefined |…y((catalog) => catalog?.serves === undefined) → false':
      'A shortcut: without it the same is computed.',
    'faultsIn: count === undefined || layout === undefined |…y((catalog) => catalog?.serves === undefined) → (count === undefined || layout === undefined)':
      'A shortcut: without it the same is computed.',
    'faultsIn: count === undefined || layout === undefined → (count === undefined)':
      'A shortcut: the other conditions tell such stores too.',
    'faultsIn: count === undefined || layout === undefined → (layout === undefined)':
      'A shortcut: the other conditions tell such stores too.',
    'faultsIn: catalog?.serves === undefined → false': 'A shortcut: without it the same is computed.',
    'faultsIn: away.move >= (departures.get(bucket)?.away.move ?? 0) → away.move > (departures.get(bucket)?.away.move ?? 0)':
      'A bucket has one record of a move.',
    'faultsIn: layout.shards[number]?.buckets → layout.shards[number].buckets': hasShards,
    'faultsIn: owners[bucket]?.push → owners[bucket].push':
      'No shard owns a bucket that the router does not have.',
    'faultsIn: shards.length > 1 → shards.length >= 1': 'A bucket with one owner is left out before.',
    'faultsIn: emptied === undefined && !lacking.has(away) → (!lacking.has(away))': comesWhole,
    'faultsIn: layout.moves?.find(({ id }) => id === away.move) → layout.moves?.findLast(({ id }) => id === away.move)':
      oneOfEach,
    'faultsIn: count === undefined || layout === undefined |…y((catalog) => catalog?.serves === undefined) → (catalogs.every((catalog) => catalog?.serves === undefined))':
      'A shard has such a record only in a store with a layout of buckets.',
    'twoOwners.arrival: catalogs[shard]?.serves → catalogs[shard].serves':
      'A removed shard, which has no catalog, has no buckets either.',
  },
  'protocol/moves/own-buckets': {
    'changeOwn: continue → (nothing)': 'The change that follows needs an epoch that the shard no longer has.',
    'ownOf: layout?.shards[shardNumber]?.buckets → layout?.shards[shardNumber].buckets': hasShards,
    'announcedIn: catalog.layout?.moves?.find((each) => isSameMove(each, move)) → catalog.layout?.moves?.findLast((each) => isSameMove(each, move))':
      oneOfEach,
  },
  'protocol/moves/attempt': {
    'leave: timed.now ?? 0 → (timed.now)': 'A timed reading has the time of its shard.',
    'come: wentBack = false → wentBack = true': isDecided,
    'renewTarget: wentBack = false → wentBack = true': isDecided,
    'come: earlier.attempt > attempt → earlier.attempt >= attempt':
      'An attempt of the same number returns before.',
    'renewTarget: found === undefined || wentBack → (wentBack)': 'A target without a record went back.',
  },
  'protocol/moves/compare-entities': {
    'differencesAmong: rows.length === 0 → false': 'A shortcut: without it the same is computed.',
    'differencesAmong: different.length === 0 → false': 'A shortcut: without it the same is computed.',
    'countExtra: ids.length > 0 → true': 'A shortcut: without it the same is computed.',
  },
  'protocol/moves/entity-pages': {
    'pagesByAdded: throwIfAborted(signal) → (nothing)': notSent,
    'pagesOfRange: throwIfAborted(signal) → (nothing)': notSent,
  },
  'protocol/moves/last-copy': {
    'copyRest: throwIfAborted(work.signal) → (nothing)': notSent,
    'copyRest: isLast || last === undefined → (isLast)': 'A page without rows is the last one.',
  },
  'protocol/moves/write-copies': {
    'copiesOf: batch.every(hasBody) → batch.some(hasBody)': 'A batch has all of its bodies, or none.',
  },
  'protocol/moves/sealed-shards': {
    'breakSeal: own.catalog.epoch !== epoch || leaving === undefined → (own.catalog.epoch !== epoch)':
      'A catalog with the epoch of a seal has the record of it.',
  },
  'protocol/moves/until-writable': {
    'createBucketWait.waitOnce: epochs[shard] ?? 0 → (epochs[shard])': hasEpochs,
  },
  'protocol/owners/walk-owned': {
    'watchOwned.owned: known.placement !== before.placement → true': shortcut,
    'watchOwned.owned: owns(before, shard, id) && owns(known, shard, id) → (owns(before, shard, id))':
      'A bucket that has left or begun since has another time of arrival.',
    'watchOwned.owned: owns(before, shard, id) && owns(known, shard, id) → (owns(known, shard, id))':
      'A bucket that has left or begun since has another time of arrival.',
    'walkOwned: driver.removed?.has → driver.removed.has':
      'The driver of an open store has a set of its removed shards.',
    'walkShard.isUnread: buckets === undefined || unread.has(buckets.ofId(id)) → (unread.has(buckets.ofId(id)))':
      'Rows are only left out in a store with buckets.',
  },
  'store/reading/rows/covered-reader': {
    'coveredReader.partOf: version === undefined || included === undefined → (version === undefined)':
      'The place where a page begins has neither.',
    'coveredReader.partOf: version === undefined || included === undefined → (included === undefined)':
      'The place where a page begins has neither.',
    'coveredReader.partOf: return undefined → (nothing)':
      'A function without a return returns undefined as well.',
    'coveredReader.readRun: decoded.some((part) => isPending(part)) → true':
      'To await values that are there changes nothing.',
    'coveredReader.read: verify && !knowsVersions(rows) → (!knowsVersions(rows))':
      'Only a verified list counts them.',
    'coveredReader.partOf.part: plan.rowsTellPlaces → false':
      'A shortcut: the place follows from the part too.',
  },
  'store/shards/add-shard': {
    'addDatabase: (await loadShardCatalog(shard, { signal }))?.shardNumber ?? number → ((await loadShardCatalog(shard, { signal }))?.shardNumber)':
      'A shard has a catalog once it was added.',
    'addDatabase: (await loadShardCatalog(shard, { signal }))?.shardNumber → (await loadShardCatalog(shard, { signal })).shardNumber':
      'A shard has a catalog once it was added.',
    'prepareTables: catalog.hasDefinitions → true':
      'A shortcut: without definitions there are no codec entries.',
    "serve: at === number && state === 'joining' → (at === number)":
      'Only the layout of a shard that joins is changed.',
    'serve: layout.shards[number]?.state → layout.shards[number].state':
      'The shard is in the layout by then.',
    "changeLayout.isPrepared: state === 'dropped' || prepared.has(table) → (prepared.has(table))":
      'The next attempt makes the table.',
    'hasJoined: layout?.shards[number]?.state → layout?.shards[number].state':
      'A member of the store is in its layout.',
    'changeLayout: contents.layout && contents.indexes.every(isPrepared) → (contents.indexes.every(isPrepared))':
      hasLayout,
    'hasJoined: layout?.shards → layout.shards': hasLayout,
  },
  'store/shards/list-shards': {
    'listShards: placement.shardOfBucket?.[bucket] → placement.shardOfBucket[bucket]':
      'Only a store with such a list has buckets to look up.',
  },
  'store/shards/plan-shards': {
    'planShards: context.driver.shards[to]?.name → context.driver.shards[to].name':
      'The target of a planned move is a shard of the store.',
  },
  'store/shards/removal-obstacles': {
    "layoutObstacles: shards[number]?.buckets ?? '' → (shards[number]?.buckets)":
      'Every shard of a store with buckets has a text of them.',
    'layoutObstacles: shards[number]?.buckets → shards[number].buckets': 'The number is that of a shard.',
    'layoutObstacles: shards[each]?.state → shards[each].state': 'The number is that of a shard.',
    "layoutObstacles: indexes.find(({ state }) => state === 'building') → indexes.findLast(({ state }) => state === 'building')":
      'The removal is refused, whichever of the indexes is named.',
  },
  'store/shards/remove-shard': {
    'copyCodecEntries: !catalog.current().hasDefinitions → false':
      'A shortcut: without definitions there are no codec entries.',
    'tell: !isOutage(error) → true':
      'The call is repeated after an outage, and the shard was removed by then.',
  },
  'store/shards/repair-shards': {
    'beginTargets: before.serves.coming === undefined → false':
      'A shortcut: without such a record nothing begins either.',
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
    'claimsGivenUp: rows.deletedNow .filter(({ entry }) => entry.unique) → rows.deletedNow':
      'Only keys of unique tables are looked for.',
    'givenUpKeys: given.size > 0 && given.has(identityOf(entry.table, key)) → (given.has(identityOf(entry.table, key)))':
      shortcut,
  },
  'store/reading/rows/row-reader': {
    'wholeReader.read: rows.some(hasEntity) → true': 'With no entity known, all of them are read.',
  },
}
