import type { Step } from './explore.ts'
import {
  mayInsert,
  nextVersion,
  onSecondShard,
  upsert,
  type Guards,
  type Local,
  type Process,
  type World,
} from './world.ts'

export interface WriterOptions {
  /** Defers the index rows of a shard that is down, with a pending row beside the entity. */
  readonly defer?: boolean
  /** The answer to the commit never arrives, so the writer reads the version back. */
  readonly answerLost?: boolean
  /** The state that the writer knows from memory, in place of reading it. Its keys stand for its body. */
  readonly remembered?: { readonly version: number; readonly keys: readonly string[] }
}

/**
 * One attempt to write the entity with these keys; none for a delete. A writer that loses the race stops;
 * another writer stands for its retry.
 */
export function writer(keys: readonly string[], guards: Guards, options: WriterOptions = {}): Process {
  const upserts = keys.map((key): Step<World, Local> => ({
    label: `upserts ${key}`,
    run(world, local, process) {
      if (local.index === 'absent' || local.old.includes(key)) return
      if (!guards.rowsFirst && local.version === 0) return
      if (world.shardDown && onSecondShard(key)) {
        if (options.defer !== true) return 'end'
        local.deferred = true
        return
      }
      upsert(world, key, local.version || nextVersion(least(local), process, guards), guards)
    },
  }))
  const commit: Step<World, Local> = {
    label: `commits ${keys.join('+') || 'a delete'}`,
    run(world, local, process) {
      if (guards.epochFence && world.epoch !== local.epoch) return { goto: 'reads the catalog' }
      if (guards.compareAndSwap && world.version !== local.base) {
        return options.answerLost ? undefined : 'end'
      }
      const hasOtherBody = world.keys.join() !== local.old.join()
      if (options.remembered !== undefined && guards.bodyCompared && hasOtherBody) return 'end'
      const version = nextVersion(least(local), process, guards)
      if (local.base === 0 && !mayInsert(world, version, guards)) return { goto: 'reads the catalog' }
      local.version = version
      if (world.lagging)
        world.replica ??= { version: world.version, keys: world.keys, pending: world.pending }
      world.version = local.version
      world.keys = [...keys]
      world.committed.push(process)
      if (local.deferred) world.pending = Math.max(world.pending, local.version)
      if (!options.answerLost) world.acknowledged.push(process)
    },
  }
  const readBack: Step<World, Local> = {
    label: 'reads its version back',
    run(world, local, process) {
      const version = nextVersion(least(local), process, guards)
      if (world.version !== version) return 'end'
      local.version = version
      world.acknowledged.push(process)
    },
  }
  const remove: Step<World, Local> = {
    label: 'deletes the rows it lost',
    run(world, local) {
      if (guards.deleteDelay && world.lagging) return 'end'
      for (const key of local.old) {
        if (keys.includes(key)) continue
        const stamp = world.rows[key]
        if (stamp !== undefined && (!guards.writerDeletesOlder || stamp < local.version))
          delete world.rows[key]
      }
    },
  }
  const read: Process = [
    {
      label: 'reads the catalog',
      run(world, local) {
        Object.assign(local, { epoch: world.epoch, index: world.index, purged: world.purged })
      },
    },
    {
      label: options.remembered === undefined ? 'reads the entity' : 'remembers the entity',
      run(world, local) {
        const { version: base, keys: old } = options.remembered ?? world
        Object.assign(local, { base, old: [...old], version: 0, deferred: false })
      },
    },
  ]
  const ending = options.answerLost ? [readBack, remove] : [remove]
  return guards.rowsFirst
    ? [...read, ...upserts, commit, ...ending]
    : [...read, commit, ...upserts, ...ending]
}

/** Lower bound of an attempt's version. */
function least({ base, purged }: Local): number {
  return base === 0 ? purged : base
}
