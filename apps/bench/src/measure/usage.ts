import { readdirSync, readFileSync } from 'node:fs'

/** What servers have spent up to now; the difference of two tells what a run took. Undefined what cannot be known. */
export interface ServerUsage {
  /** CPU time in µs. */
  readonly cpu: number | undefined
  readonly statements: number | undefined
  /** Times that data was waited for to be on the disk. */
  readonly flushes: number | undefined
}

export interface ServerMeter {
  read(): Promise<ServerUsage>
}

export const noUsage: ServerUsage = { cpu: undefined, statements: undefined, flushes: undefined }

/** From one reading to another, for each call. */
export function usagePerCall(before: ServerUsage, after: ServerUsage, calls: number): ServerUsage {
  const each = (name: keyof ServerUsage): number | undefined => {
    const [from, to] = [before[name], after[name]]
    return from === undefined || to === undefined ? undefined : (to - from) / calls
  }
  return { cpu: each('cpu'), statements: each('statements'), flushes: each('flushes') }
}

/** Linux counts CPU time in ticks of 10 ms for whoever asks through /proc. */
const TICK_MICROS = 10_000

/** Of these processes and of the children that they have waited for; undefined on another system than Linux. */
export function cpuOf(pids: readonly number[]): number | undefined {
  if (pids.length === 0) return undefined
  try {
    return pids.reduce((sum, pid) => sum + ticksOf(statOf(pid)), 0) * TICK_MICROS
  } catch {
    return undefined
  }
}

/** A process and its children, such as a PostgreSQL server and those that serve its connections. */
export function withChildren(parent: number): number[] {
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && parentOf(Number(name)) === parent,
  )
  return [parent, ...children.map(Number)]
}

/** The fields behind the name, which may hold anything. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** User and system time, of the process itself and of children that have ended. */
function ticksOf(fields: readonly string[]): number {
  return [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0)
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1])
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}
