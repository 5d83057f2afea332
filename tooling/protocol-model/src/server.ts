/**
 * A database server that shows a commit before its log is on disk, as InnoDB does without a binary log. Plain data: the
 * states that a crash may leave, the oldest first. The first is on disk, the last is what everybody reads.
 */
export interface Server<State> {
  log: State[]
  /** The place of the first state in the sequence of all commits. */
  flushed: number
  /** Raised by every crash: who has a connection notices. */
  life: number
}

/** How far the log had come at some moment of a server's life. */
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

/** Everybody reads it from now on; it is not on disk. */
export function commit<State>(server: Server<State>, change: Partial<State>): void {
  server.log.push({ ...visible(server), ...change })
}

/** All that is visible. */
export function markOf({ log, flushed, life }: Server<unknown>): Mark {
  return { life, commit: flushed + log.length - 1 }
}

/**
 * The log is on disk up to there: it is written in order, so this covers everything before. Later commits stay at risk.
 * That the disk may have more by itself is no case of its own: a crash may leave any of the states.
 */
export function flushTo<State>(server: Server<State>, mark: Mark): void {
  const ahead = mark.commit - server.flushed
  if (mark.life !== server.life || ahead <= 0) return
  server.log.splice(0, ahead)
  server.flushed = mark.commit
}

/** The last `lost` commits are gone, and every connection is. */
export function crash<State>(server: Server<State>, lost: number): void {
  server.log = server.log.slice(0, server.log.length - lost)
  server.life++
}
