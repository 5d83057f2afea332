import type { TaskTable } from '@looseleaf/core'

interface Task {
  progress: string
  owner: string | undefined
  /** Microseconds since 1970. */
  until: number
}

export function createReferenceTasks(now: () => number): TaskTable {
  const tasks = new Map<string, Task>()
  const ownerOf = (task: Task): string | undefined => (task.until > now() ? task.owner : undefined)
  return {
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
