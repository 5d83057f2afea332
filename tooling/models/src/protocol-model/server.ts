/**
 * A database server that shows a commit before its log is on disk, as InnoDB does without a binary log. Plain
 * data: the states that a crash may leave, oldest first. The first one is on disk; readers see the last one.
 */
export interface Server<State> {
  log: State[]
  /** Position of the first state in the sequence of all commits. */
  flushed: number
  /** Raised by every crash, which closes all connections. */
  life: number
}

/** Position of the log in one life of a server. */
export interface Mark {
  readonly life: number
  readonly commit: number
}

export function newServer<State>(state: State): Server<State> {
  return { log: [state], flushed: 0, life: 0 }
}

export function visible<State>({ log }: Server<State>): State {
  return log.at(-1) as State
}

/** Makes a commit visible, but not durable. */
export function commit<State>(server: Server<State>, change: Partial<State>): void {
  server.log.push({ ...visible(server), ...change })
}

/** Returns the position of everything that is visible. */
export function markOf({ log, flushed, life }: Server<unknown>): Mark {
  return { life, commit: flushed + log.length - 1 }
}

/**
 * Flushes the log up to a position. The log is written in order, so this covers everything before. Later
 * commits stay at risk. A disk that has more than was flushed is no separate case, because a crash may leave
 * any of the states.
 */
export function flushTo<State>(server: Server<State>, mark: Mark): void {
  const ahead = mark.commit - server.flushed
  if (mark.life !== server.life || ahead <= 0) return
  server.log.splice(0, ahead)
  server.flushed = mark.commit
}

/** Undoes the last `lost` commits and closes all connections. */
export function crash<State>(server: Server<State>, lost: number): void {
  server.log = server.log.slice(0, server.log.length - lost)
  server.life++
}
