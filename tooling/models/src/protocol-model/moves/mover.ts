import type { Event, StepResult } from '../explore.ts'
import { beforeCommit, changeServes, flush, NO_ROW, other } from './bucket.ts'
import type {
  BucketRow,
  MoveMemory,
  MoveProcess,
  MoveStep,
  MoveWorld,
  MovingShard,
  ShardNumber,
} from './bucket.ts'
import type { MoveGuards } from './guards.ts'
import { begin, timeOnDisk } from './owner.ts'

export interface MoverOptions {
  /** Number of the move. Default: 1. */
  readonly move?: number
  /** Default: shard A. */
  readonly source?: ShardNumber
  /** Windows before the seal. Default: 1. */
  readonly windows?: number
  /** Times that it seals. Default: 2. */
  readonly seals?: number
  /** Empties the source at the end. */
  readonly empties?: boolean
  /** Announces the move, and waits for reads without a check. */
  readonly announces?: boolean
  /** Its statements at the target may arrive once more. */
  readonly repeats?: boolean
  /** Begins when the source owns the bucket, or when the move before was undone. Default: at once. */
  readonly waits?: 'for the owner' | 'for an undo'
}

/**
 * Moves the bucket in attempts. Changes of a catalog row compare its epoch; a change that finds another epoch is
 * made anew, so each is one step here.
 */
export function mover(guards: MoveGuards, options: MoverOptions = {}): MoveProcess {
  const { announces = false, empties = false } = options
  const announce: MoveStep = {
    label: 'announces the move',
    run: (world) => void (world.announced = true),
  }
  return [
    ...(announces ? [announce] : []),
    ...beginAttempt(guards, options),
    ...copyWindow(guards, options),
    ...sealAndCommit(guards, options),
    ...(empties ? emptySource(guards, options) : []),
  ]
}

function beginAttempt(guards: MoveGuards, options: MoverOptions): MoveProcess {
  const { move = 1, source = 0, waits } = options
  const target = other(source)
  return [
    {
      label: 'begins an attempt at the source',
      run({ shards }, local) {
        const shard = shards[source]
        const { is, attempt, undone } = shard.serves
        if (is === 'away' && Math.floor(attempt / 10) === move) {
          Object.assign(local, { attempt, restarts: shard.restarts, sealEpoch: shard.epoch })
          return { goto: 'sees to it that the commit is on disk' }
        }
        if (is !== 'owner') return waits === 'for the owner' ? 'blocked' : 'end'
        if (waits === 'for an undo' && undone === 0) return 'blocked'
        if (guards.undoneStaysUndone && undone >= move) return 'end'
        const isSame = Math.floor(attempt / 10) === move
        local.attempt = (isSame ? attempt : move * 10) + 1
        if (!isSame || guards.takesOverAtSource)
          changeServes(shard, { attempt: local.attempt, sealed: false })
        return undefined
      },
    },
    ...(guards.copyTimesGrow ? [] : takeCopyTime(target, guards)),
    {
      label: 'begins the attempt at the target',
      run({ shards }, local) {
        const shard = shards[target]
        const { is, attempt, end, gone, goneAt } = shard.serves
        if (shard.isDown || is === 'owner' || (is === 'away' && guards.emptiedFirst)) return 'end'
        if (guards.attemptsGrow && is === 'coming' && attempt >= local.attempt) return 'end'
        if (guards.copyTimesGrow) local.copiedAt = shard.floor
        changeServes(shard, {
          is: 'coming',
          attempt: local.attempt,
          gone: is === 'away' ? end : gone,
          goneAt: is === 'away' ? shard.floor : goneAt,
        })
        flush(shard)
        local.targetEpoch = shard.epoch
        return undefined
      },
    },
    ...(guards.purgeBoundGoesAlong ? [passPurgeBound(source)] : []),
    ...(guards.leftoversGoFirst ? [deleteLeftovers(guards, options)] : []),
  ]
}

const TAKE_COPY_TIME = 'takes the time of copies from the target'

const takeCopyTime = (target: ShardNumber, guards: MoveGuards): MoveProcess =>
  timeOnDisk(guards, {
    labels: [TAKE_COPY_TIME, 'raises the floor of the target'],
    shardOf: () => target,
    take: (local, time) => void (local.copiedAt = time),
  })

const passPurgeBound = (source: ShardNumber): MoveStep => ({
  label: 'takes over the bound of purged tombstones',
  run({ shards }) {
    const target = shards[other(source)]
    target.purged = Math.max(target.purged, shards[source].purged)
  },
})

const deleteLeftovers = (guards: MoveGuards, { source = 0, repeats = false }: MoverOptions): MoveStep => ({
  label: 'deletes leftovers at the target',
  run(world, { targetEpoch, copiedAt }) {
    const target = world.shards[other(source)]
    if (repeats) world.late.discard ??= { shard: other(source), epoch: targetEpoch, before: copiedAt }
    if (target.epoch !== targetEpoch && guards.discardsAreFenced) return 'end'
    discard(target, copiedAt, guards)
    return undefined
  },
})

/** Stores a copy, unless there is one of a later window. */
function receive(shard: MovingShard, row: BucketRow, { laterCopyStays }: MoveGuards): void {
  if (row.updated >= shard.row.updated || !laterCopyStays) shard.row = row
  flush(shard)
}

/** Deletes the row if it is older than this time. */
function discard(shard: MovingShard, before: number, { discardsAreBounded }: MoveGuards): void {
  if (shard.row.updated < before || !discardsAreBounded) shard.row = NO_ROW
  flush(shard)
}

function raiseFloor(shard: MovingShard): void {
  shard.floor++
  flush(shard)
}

function copyWindow(guards: MoveGuards, options: MoverOptions): MoveProcess {
  const { source = 0, windows = 1, repeats = false } = options
  const target = other(source)
  const next = guards.copyTimesGrow ? TAKE_COPY_TIME : 'raises the floor of the source'
  const afterWindows = (sealAndCommit(guards, options)[0] as MoveStep).label
  const flushSource: MoveStep = {
    label: 'sees to it that the page is on disk',
    run({ shards }, local) {
      const shard = shards[source]
      flush(shard)
      if (shard.restarts !== local.restarts) return { goto: 'reads a page' }
      return local.page === undefined ? { goto: 'ends the window' } : undefined
    },
  }
  return [
    ...(guards.copyTimesGrow ? takeCopyTime(target, guards) : []),
    {
      label: 'raises the floor of the source',
      run({ shards }, local) {
        if (local.windows === windows) return { goto: afterWindows }
        raiseFloor(shards[source])
        local.until = shards[source].floor
        return undefined
      },
    },
    {
      label: 'reads a page',
      run({ shards }, local) {
        const { row, restarts } = shards[source]
        const isOpen = local.isLast && guards.lastWindowIsOpen
        const isInside = row.updated >= local.from && (row.updated < local.until || isOpen)
        const isFound = row.version !== 0 && isInside && (row.content !== 0 || guards.tombstonesAreCopied)
        Object.assign(local, { page: isFound ? row : undefined, body: undefined, restarts })
        if (isFound) return undefined
        // Under a seal nothing can come back to the page, unless the seal is lost as well: then the commit is refused.
        const isFlushed = guards.emptyPagesToo && guards.pagesAreOnDisk && !local.isLast
        return { goto: isFlushed ? flushSource.label : 'ends the window' }
      },
    },
    {
      label: 'reads the body',
      run({ shards }, local) {
        const { row } = shards[source]
        local.body = row
        const isReplaced = row.version !== local.page?.version
        return isReplaced && !guards.replacedRowsAreCopied ? { goto: 'ends the window' } : undefined
      },
    },
    ...(guards.pagesAreOnDisk ? [flushSource] : []),
    {
      label: 'writes the copy at the target',
      run(world, local) {
        const shard = world.shards[target]
        const { version, content } = local.body ?? NO_ROW
        const row = { version, content, updated: version === 0 ? 0 : local.copiedAt }
        if (repeats) world.late.copy ??= { shard: target, epoch: local.targetEpoch, row }
        if (guards.copiesAreFenced && shard.epoch !== local.targetEpoch) return 'end'
        receive(shard, row, guards)
        local.greatest = Math.max(local.greatest, (local.page ?? NO_ROW).updated)
        return undefined
      },
    },
    {
      label: 'ends the window',
      run(_, local) {
        Object.assign(local, { page: undefined, body: undefined })
        if (local.isLast) return { goto: 'commits' }
        local.from = local.until
        local.windows++
        return { goto: next }
      },
    },
  ]
}

const BEGIN = 'begins the target'

function sealAndCommit(guards: MoveGuards, options: MoverOptions): MoveProcess {
  const { source = 0, seals = 2, announces = false } = options
  const target = other(source)
  const isMine = ({ serves }: MovingShard, { attempt }: MoveMemory): boolean =>
    serves.is === 'owner' && (serves.attempt === attempt || !guards.takesOverAtSource)
  const wait: MoveStep = {
    label: 'waits for reads without a check',
    run: ({ plainReads }) => (plainReads > 0 ? 'blocked' : undefined),
  }
  const raise: MoveStep = {
    label: 'raises the floor before the seal',
    run({ shards }, local) {
      raiseFloor(shards[source])
      local.until = shards[source].floor
    },
  }
  return [
    ...(announces && guards.plainReadsAreAwaited ? [wait] : []),
    ...(guards.lastWindowIsOpen ? [] : [raise]),
    {
      label: 'seals the source',
      run({ shards }, local) {
        const shard = shards[source]
        if (!isMine(shard, local) || ++local.seals > seals) return 'end'
        local.isLast = true
        if (guards.sealsFirst) changeServes(shard, { sealed: true })
        flush(shard)
        local.sealEpoch = shard.epoch
        return guards.copiesUnderSeal ? { goto: 'reads a page' } : undefined
      },
    },
    {
      label: 'commits',
      run({ shards }, local): StepResult {
        const shard = shards[source]
        if (!isMine(shard, local)) return 'end'
        if (!guards.sourceFirst && isComing(shards[target], local))
          begin(shards[target], local.greatest + 1, local.copiedAt + 1)
        const isSealed = shard.epoch === local.sealEpoch || !guards.commitComparesSeal
        if (!isSealed && guards.sealsFirst)
          return {
            goto: guards.copyTimesGrow
              ? TAKE_COPY_TIME
              : guards.lastWindowIsOpen
                ? 'seals the source'
                : raise.label,
          }
        const end = guards.endIsAboveRows ? local.greatest + 1 : local.until
        beforeCommit(shard)
        changeServes(shard, { is: 'away', attempt: local.attempt, end, sealed: false })
        Object.assign(local, { restarts: shard.restarts, sealEpoch: shard.epoch })
        return undefined
      },
    },
    {
      label: 'sees to it that the commit is on disk',
      run: ({ shards }) => void flush(shards[source]),
    },
    {
      label: 'looks at the source again',
      run({ shards }, local) {
        if (shards[source].epoch !== local.sealEpoch) return 'end'
        local.until = local.copiedAt + 1
        return local.copiedAt === 0 || !guards.beginIsOnDisk ? undefined : { goto: BEGIN }
      },
    },
    ...timeOnDisk(guards, {
      labels: ['takes a time from the target', 'raises the floor before it begins the target'],
      shardOf: () => target,
      take: (local, time) => void (local.until = time + 1),
    }),
    {
      label: BEGIN,
      run({ shards }, local) {
        if (isComing(shards[target], local)) begin(shards[target], shards[source].serves.end, local.until)
      },
    },
  ]
}

const isComing = ({ serves }: MovingShard, { attempt }: MoveMemory): boolean =>
  serves.is === 'coming' && serves.attempt === attempt

function emptySource(guards: MoveGuards, { source = 0, repeats = false }: MoverOptions): MoveProcess {
  return [
    {
      label: 'raises the floor before the source is emptied',
      run({ shards }, local) {
        if (shards[other(source)].serves.is !== 'owner') return 'end'
        raiseFloor(shards[source])
        local.until = shards[source].floor
        return undefined
      },
    },
    {
      label: 'looks for consumers',
      run({ shards: { [source]: shard }, follower }, { until }) {
        if (!guards.consumersAreAwaited || !follower.isNamed) return undefined
        const { places, failing, since } = follower
        const isBehind = places[source] < shard.serves.end
        const isFailing = guards.failingIsAwaitedByMover && failing[source] !== 0
        const isLate = follower.beginnings > 0 && since[source] >= until
        return (isBehind || isFailing) && !isLate ? 'blocked' : undefined
      },
    },
    {
      label: 'says that the source is emptied',
      run({ shards }, local) {
        const shard = shards[source]
        const goneAt = guards.goneAtIsRaised ? local.until : shard.serves.end
        changeServes(shard, { is: 'emptied', gone: shard.serves.end, goneAt })
        local.sealEpoch = shard.epoch
        return undefined
      },
    },
    {
      label: 'deletes the rows of the source',
      run(world, { sealEpoch }) {
        const shard = world.shards[source]
        const { end: before } = shard.serves
        if (repeats) world.late.discard ??= { shard: source, epoch: sealEpoch, before }
        if (shard.epoch === sealEpoch || !guards.discardsAreFenced) discard(shard, before, guards)
      },
    },
  ]
}

/** Ends a move before its commit. It acts once an attempt has begun. */
export function undo(guards: MoveGuards, { move = 1 }: { readonly move?: number } = {}): MoveProcess {
  return [
    {
      label: 'ends the attempt at the source',
      run({ shards: [shard] }, local) {
        const { is, attempt } = shard.serves
        if (is !== 'owner') return 'end'
        if (Math.floor(attempt / 10) !== move) return 'blocked'
        local.attempt = attempt
        changeServes(shard, { attempt: 0, sealed: false, undone: move })
        return undefined
      },
    },
    {
      label: 'ends it at the target',
      run({ shards: [, shard] }, local) {
        if (shard.serves.is !== 'coming') return 'end'
        if (guards.undoComparesAttempt && shard.serves.attempt !== local.attempt) return 'end'
        changeServes(shard, { is: 'none', attempt: 0 })
        return 'end'
      },
    },
  ]
}

/** Statements of a mover that repeats arrive once more, as they were. */
export const lateStatements = (guards: MoveGuards): readonly Event<MoveWorld>[] => [
  {
    label: 'a copy arrives once more',
    possible: ({ late }) => late.copy !== undefined,
    happen(world) {
      const { shard, epoch, row } = world.late.copy as NonNullable<MoveWorld['late']['copy']>
      const at = world.shards[shard]
      if (at.epoch === epoch || !guards.copiesAreFenced) receive(at, row, guards)
    },
  },
  {
    label: 'a delete of rows arrives once more',
    possible: ({ late }) => late.discard !== undefined,
    happen(world) {
      const { shard, epoch, before } = world.late.discard as NonNullable<MoveWorld['late']['discard']>
      const at = world.shards[shard]
      if (at.epoch === epoch || !guards.discardsAreFenced) discard(at, before, guards)
    },
  },
]
