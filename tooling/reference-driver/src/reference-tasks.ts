import type { TaskTable } from '@looseleaf/core'

interface Task {
  readonly progress: string
  readonly owner: string | undefined
  /** Microseconds since 1970. */
  readonly until: number
}

export interface ReferenceTasks extends TaskTable {
  /** Everything that there is, to be given to `restore`. */
  snapshot(): ReadonlyMap<string, Task>
  restore(tasks: ReadonlyMap<string, Task>): void
}

export function createReferenceTasks(now: () => number): ReferenceTasks {
  let tasks = new Map<string, Task>()
  const ownerOf = (task: Task): string | undefined => (task.until > now() ? task.owner : undefined)
  return {
    snapshot: () => new Map(tasks),
    restore: (before) => void (tasks = new Map(before)),
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
    async save(name, owner, progress, leaseMs) {
      const task = tasks.get(name)
      if (task?.owner !== owner) return false
      tasks.set(name, { progress, owner: leaseMs === 0 ? undefined : owner, until: now() + leaseMs * 1000 })
      return true
    },
  }
}
