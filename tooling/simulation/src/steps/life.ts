/**
 * A process as the world sees it. A dead process receives and sends nothing more. A frozen process does
 * nothing either, but its messages wait, and it continues with stale state.
 */
export interface Life {
  readonly name: string
  /** Milliseconds by which its clock is ahead of the databases' clock; negative if behind. */
  readonly skewMs: number
  alive: boolean
  frozen: boolean
  /** Messages that arrived while it was frozen. */
  readonly inbox: (() => void)[]
}

export function createLife(name: string, skewMs = 0): Life {
  return { name, skewMs, alive: true, frozen: false, inbox: [] }
}

/** Delivers something to a process: at once, when it wakes, or never if it is dead. */
export function reach(life: Life, take: () => void): void {
  if (!life.alive) return
  if (life.frozen) life.inbox.push(take)
  else take()
}

export function wake(life: Life): void {
  life.frozen = false
  for (const take of life.inbox.splice(0)) reach(life, take)
}
