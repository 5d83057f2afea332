import { MAX_LEASE_MS, type TaskTable } from '@looseleaf/core/internal'

interface Task {
  readonly progress: string
  readonly owner: string | undefined
  /** Microseconds since 1970. */
  readonly until: number
}

export interface ReferenceTasks extends TaskTable {
  /** Returns all tasks, for `restore`. */
  snapshot(): ReadonlyMap<string, Task>
  restore(tasks: ReadonlyMap<string, Task>): void
}

export function createReferenceTasks(now: () => number): ReferenceTasks {
  let tasks = new Map<string, Task>()
  const ownerOf = (task: Task): string | undefined => {
    const leftMs = (task.until - now()) / 1000
    return leftMs > 0 && leftMs <= 2 * MAX_LEASE_MS ? task.owner : undefined
  }
  function save(name: string, owner: string, progress: string, leaseMs: number, nextOwner = owner): boolean {
    if (tasks.get(name)?.owner !== owner) return false
    tasks.set(name, { progress, owner: leaseMs === 0 ? undefined : nextOwner, until: now() + leaseMs * 1000 })
    return true
  }
  const table: TaskTable = {
    async load(name) {
      const task = tasks.get(name)
      return task && { progress: task.progress, owner: ownerOf(task) }
    },
    async claim(name, owner, leaseMs) {
      const task = tasks.get(name) ?? { progress: '', owner: undefined, until: 0 }
      const holder = ownerOf(task)
      if (holder !== undefined && holder !== owner) return undefined
      tasks.set(name, { ...task, owner, until: now() + leaseMs * 1000 })
      return { progress: task.progress, owner }
    },
    save: async (name, owner, progress, leaseMs) => save(name, owner, progress, leaseMs),
    async loadAll(names) {
      const states = await Promise.all(names.map((name) => table.load(name)))
      return new Map(names.flatMap((name, i) => (states[i] === undefined ? [] : [[name, states[i]]])))
    },
    async claimAll(names, owner, leaseMs) {
      const states = await Promise.all(names.map((name) => table.claim(name, owner, leaseMs)))
      return new Map(names.flatMap((name, i) => (states[i] === undefined ? [] : [[name, states[i]]])))
    },
    async saveAll(progress, owner, leaseMs, options) {
      const saved = [...progress].filter(([name, text]) =>
        save(name, owner, text, leaseMs, options?.nextOwner),
      )
      return new Set(saved.map(([name]) => name))
    },
  }
  return {
    ...table,
    snapshot: () => new Map(tasks),
    restore: (before) => void (tasks = new Map(before)),
  }
}
