/**
 * A process as the world sees it. Once it is dead, nothing reaches it and nothing that it has not sent is sent. While it
 * is frozen it does nothing either, but what reaches it waits, and it goes on with all that it believed.
 */
export interface Life {
  readonly name: string
  /** By how many milliseconds its clock is ahead of the databases', or behind when negative. */
  readonly skewMs: number
  alive: boolean
  frozen: boolean
  /** What has reached it while it was frozen. */
  readonly inbox: (() => void)[]
}

export function createLife(name: string, skewMs = 0): Life {
  return { name, skewMs, alive: true, frozen: false, inbox: [] }
}

/** Hands something to a process: at once, when it wakes, or never. */
export function reach(life: Life, take: () => void): void {
  if (!life.alive) return
  if (life.frozen) life.inbox.push(take)
  else take()
}

export function wake(life: Life): void {
  life.frozen = false
  for (const take of life.inbox.splice(0)) reach(life, take)
}
