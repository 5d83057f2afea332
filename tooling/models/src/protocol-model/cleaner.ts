import type { Step } from './explore.ts'
import { nextVersion, upsert, type Guards, type Local, type Process, type World } from './world.ts'

const scan: Step<World, Local> = {
  label: 'scans the index',
  run(world, local) {
    local.rows = world.rows
  },
}

const read: Step<World, Local> = {
  label: 'reads the entity',
  run(world, local) {
    const replicated = world.replica === undefined
    Object.assign(local, { base: world.version, version: world.version, old: world.keys, replicated })
  },
}

function judge(local: Local): void {
  local.stale = Object.keys(local.rows).filter((key) => !local.old.includes(key))
}

/**
 * Sweeps from index rows to entities: deletes dangling rows. `entityFirst` reads in the other order, as from
 * a lagging replica.
 */
export function indexSweep(guards: Guards, options: { readonly entityFirst?: boolean } = {}): Process {
  const reads = options.entityFirst ? [read, scan] : [scan, read]
  return [
    ...reads,
    {
      label: 'deletes stale rows',
      run(world, local) {
        judge(local)
        const replicated = guards.askedWhenRead ? local.replicated : world.replica === undefined
        if (local.stale.length === 0 || (guards.deleteDelay && !replicated)) return 'end'
        for (const key of local.stale) {
          const stamp = world.rows[key]
          if (stamp !== undefined && (!guards.cleanerDeletesOlder || stamp <= local.base))
            delete world.rows[key]
        }
      },
    },
    {
      label: 'raises the version past later rows',
      run(world, local, process) {
        const later = local.stale.filter((key) => (local.rows[key] as number) > local.base)
        if (later.length === 0) return 'end'
        const past = Math.max(local.base, ...later.map((key) => local.rows[key] as number))
        if (!guards.fenceFirst) {
          local.version = past
          return
        }
        if (world.version !== local.base) return 'end'
        local.version = nextVersion(local.base === 0 ? Math.max(past, world.purged) : past, process, guards)
        world.version = local.version
      },
    },
    {
      label: 'deletes the rows that it fenced off',
      run(world, local) {
        for (const key of local.stale) {
          const stamp = world.rows[key]
          if (stamp !== undefined && stamp <= local.version) delete world.rows[key]
        }
      },
    },
  ]
}

const addMissing = (guards: Guards): Step<World, Local> => ({
  label: 'adds the rows of the entity',
  run(world, local) {
    for (const key of local.old) upsert(world, key, local.base, guards)
  },
})

/** Sweeps from the entity to its index rows: adds missing rows. */
export function entitySweep(guards: Guards): Process {
  return [read, addMissing(guards)]
}

/** Adds an index: announces it to all writers, fills it from the entities, then makes it ready. */
export function backfill(guards: Guards): Process {
  const raise: Step<World, Local> = {
    label: 'makes the index known and raises the epoch',
    run(world) {
      Object.assign(world, { epoch: world.epoch + 1, index: 'building' })
    },
  }
  const ready: Step<World, Local> = {
    label: 'calls the index ready',
    run(world) {
      world.index = 'ready'
    },
  }
  const add = addMissing(guards)
  if (!guards.raiseBeforeBackfill) return [read, raise, add, ready]
  if (!guards.fillDelay) return [raise, read, add, ready]
  const outOfReach: Step<World, Local> = {
    label: 'waits until commits of before the filling are out of reach',
    run: (world, local) =>
      world.replica !== undefined && world.replica.version < local.base ? 'blocked' : undefined,
  }
  return [raise, read, add, outOfReach, read, add, ready]
}

/** Writes the index rows that a write deferred, then removes its pending row. */
export function drain(guards: Guards): Process {
  return [
    {
      label: 'finds the pending row',
      run: (world) => (world.pending === 0 || world.shardDown ? 'blocked' : undefined),
    },
    read,
    {
      label: 'writes the rows of the entity',
      run(world, local) {
        for (const key of local.old) {
          if (guards.drainStamps || !(key in world.rows)) upsert(world, key, local.base, guards)
        }
      },
    },
    {
      label: 'removes the pending row',
      run(world, local) {
        if (guards.drainDelay && !local.replicated) return
        if (!guards.drainOlder || world.pending <= local.base) world.pending = 0
      },
    },
  ]
}

/** Deletes a tombstone that is old enough. */
export function purge(guards: Guards): Process {
  const find: Step<World, Local> = {
    label: 'reads a tombstone',
    run(world, local) {
      if (world.version === 0 || world.keys.length > 0) return 'blocked'
      local.base = world.version
    },
  }
  const raise: Step<World, Local> = {
    label: 'raises the bound of purged versions',
    run(world, local) {
      world.purged = Math.max(world.purged, local.base)
    },
  }
  const remove: Step<World, Local> = {
    label: 'deletes the tombstone',
    run(world, local) {
      const isWithin = world.keys.length === 0 && world.version <= local.base
      if (world.version === 0 || (guards.purgeWithinBound && !isWithin)) return
      // A living entity was deleted, so its commit is gone.
      if (world.keys.length > 0) world.committed = []
      Object.assign(world, { version: 0, keys: [] })
    },
  }
  return guards.raiseBeforePurge ? [find, raise, remove] : [find, remove, raise]
}
