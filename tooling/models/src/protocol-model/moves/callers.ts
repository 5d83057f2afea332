import type { Event } from '../explore.ts'
import { beforeCommit, flush, nextVersion, noMoveMemory } from './bucket.ts'
import type { MoveMemory, MoveProcess, MoveStep, MoveWorld, ShardNumber } from './bucket.ts'
import type { MoveGuards } from './guards.ts'
import { atOwner, helpFinish, readCatalogs, RELOAD } from './owner.ts'

export interface MoveWriterOptions {
  /** Writes only if there is no live entity. */
  readonly inserts?: boolean
  /** Raises the version and keeps the content; puts a tombstone where there is no row. */
  readonly fences?: boolean
  /** Its commit is visible before it is on disk. */
  readonly lingers?: boolean
  /** Its first commit may arrive once more. */
  readonly repeats?: boolean
  /** Begins once shard B owns the bucket. */
  readonly waits?: boolean
}

function forget(local: MoveMemory): void {
  const { known } = local
  Object.assign(local, noMoveMemory(), { known })
}

/** Writes this content, 0 for a delete, by compare-and-swap. It tries again once after another write. */
export function moveWriter(
  content: number,
  guards: MoveGuards,
  { inserts, fences, lingers, repeats, waits }: MoveWriterOptions = {},
): MoveProcess {
  const isWrite = true
  const wait: MoveStep = {
    label: 'waits for the target',
    run: ({ shards }) => (shards[1].serves.is === 'owner' ? undefined : 'blocked'),
  }
  return [
    ...(waits ? [wait] : []),
    atOwner('reads the entity', guards, { isWrite }, (world, local, owner) => {
      const shard = world.shards[owner]
      if (local.least === 0) local.least = world.acknowledged
      if (guards.readsAreChecked && shard.epoch !== local.known[owner].epoch) return RELOAD
      const { version, content: found } = shard.row
      if (inserts && found !== 0) {
        if (version < local.least) world.wrong = 'a read is older than what was acknowledged before it'
        return 'end'
      }
      Object.assign(local, { base: version, content: fences ? found : content })
      return undefined
    }),
    atOwner('commits', guards, { isWrite }, (world, local, owner, process) => {
      const shard = world.shards[owner]
      const row = {
        version: nextVersion(Math.max(local.base, local.purged), process),
        content: local.content,
      }
      if (repeats)
        world.late.commit ??= { shard: owner, epoch: local.known[owner].epoch, base: local.base, row }
      if (guards.writesAreFenced && shard.epoch !== local.known[owner].epoch) return RELOAD
      if (shard.row.version !== local.base) {
        if (local.tries === 1) return 'end'
        local.tries = 1
        return { goto: 'reads the entity' }
      }
      if (local.base === 0 && row.version < shard.purged) {
        local.purged = shard.purged
        return { goto: 'reads the entity' }
      }
      if (lingers) beforeCommit(shard)
      commit(world, owner, local.base, row)
      Object.assign(local, { restarts: shard.restarts, base: row.version, until: owner })
      if (lingers) return { goto: 'hears that the commit is on disk' }
      flush(shard)
      world.acknowledged = row.version
      return 'end'
    }),
    ...readCatalogs('reads the entity'),
    ...helpFinish(guards),
    {
      label: 'hears that the commit is on disk',
      run(world, local) {
        const shard = world.shards[local.until as ShardNumber]
        if (shard.restarts !== local.restarts) return 'end'
        flush(shard)
        world.acknowledged = Math.max(world.acknowledged, local.base)
        return 'end'
      },
    },
  ]
}

function commit(
  world: MoveWorld,
  number: ShardNumber,
  base: number,
  row: { readonly version: number; readonly content: number },
): void {
  const shard = world.shards[number]
  const isTombstone = shard.row.content === 0 && world.committed.version === 0
  if (base !== world.committed.version && !isTombstone)
    world.wrong = 'a write replaces a state that is not the last one'
  if (row.version <= world.purgedVersion) world.wrong = 'an entity comes back with a version that was purged'
  shard.row = { ...row, updated: shard.floor }
  world.committed = row
}

/** The first commit of a writer that repeats arrives once more, as it was. */
export const lateCommitOf = (guards: MoveGuards): Event<MoveWorld> => ({
  label: 'a commit arrives once more',
  possible: ({ late }) => late.commit !== undefined,
  happen(world) {
    const { shard, epoch, base, row } = world.late.commit as NonNullable<MoveWorld['late']['commit']>
    const at = world.shards[shard]
    if (guards.writesAreFenced && at.epoch !== epoch) return
    if (at.row.version !== base || (base === 0 && row.version < at.purged)) return
    commit(world, shard, base, row)
  },
})

/** Reads the entity so many times. A read may return nothing older than what was acknowledged before it began. */
export function moveReader(guards: MoveGuards, times = 1): MoveProcess {
  return [
    {
      label: 'begins to read',
      run: (world, local) => void (local.least = world.acknowledged),
    },
    atOwner('reads', guards, { isWrite: false }, (world, local, owner) => {
      const shard = world.shards[owner]
      if (guards.readsAreChecked && shard.epoch !== local.known[owner].epoch) return RELOAD
      if (shard.row.version < local.least)
        world.wrong = 'a read is older than what was acknowledged before it'
      const tries = local.tries + 1
      forget(local)
      local.tries = tries
      return tries < times ? { goto: 'begins to read' } : 'end'
    }),
    ...readCatalogs('reads'),
    ...helpFinish(guards),
  ]
}

/**
 * Reads without a check if the catalog announces no move. The limit of its time is that of `plainReads`: it takes the
 * answer only while the seal would have to wait for it.
 */
export function plainReader(guards: MoveGuards): MoveProcess {
  return [
    {
      label: 'looks at the catalog',
      run(world, local) {
        local.least = world.acknowledged
        if (world.announced) return { goto: 'reads' }
        world.plainReads++
        return undefined
      },
    },
    { label: 'begins a plain read', run: (world, local) => void (local.least = world.acknowledged) },
    {
      label: 'reads shard A without a check',
      run(world, local) {
        if (world.shards[0].row.version < local.least)
          world.wrong = 'a read is older than what was acknowledged before it'
      },
    },
    {
      label: 'takes the answer',
      run(world) {
        world.plainReads--
        return 'end'
      },
    },
    ...moveReader(guards),
  ]
}

/** Purges the tombstone of shard A: raises the bounds, then deletes without a fence. */
export function purger(guards: MoveGuards): MoveProcess {
  return [
    {
      label: 'raises the bound of purged tombstones',
      run({ shards: [shard] }, local) {
        const { row, serves, floor } = shard
        if (row.version === 0 || row.content !== 0) return 'blocked'
        const mayRaise = serves.is === 'owner' && (serves.attempt === 0 || !guards.noPurgeWhileLeaving)
        if (!mayRaise) return 'end'
        shard.purged = row.version + 1
        local.until = floor
        return undefined
      },
    },
    {
      label: 'deletes the tombstone',
      run(world, local) {
        const [shard] = world.shards
        const { row } = shard
        if (row.content !== 0 || row.version >= shard.purged || row.updated >= local.until) return 'end'
        shard.row = { version: 0, content: 0, updated: 0 }
        if (shard.serves.is === 'owner') {
          world.purgedVersion = row.version
          world.acknowledged = 0
          if (world.committed.version === row.version) world.committed = { version: 0, content: 0 }
        }
        return 'end'
      },
    },
  ]
}
