import { readdirSync, readFileSync } from 'node:fs'

/** Totals of the servers since their start. A run's usage is the difference of two readings. Unknown values are undefined. */
export interface ServerUsage {
  /** CPU time in µs. */
  readonly cpu: number | undefined
  readonly statements: number | undefined
  /** Number of fsync calls. */
  readonly flushes: number | undefined
}

export interface ServerMeter {
  read(): Promise<ServerUsage>
}

export const noUsage: ServerUsage = { cpu: undefined, statements: undefined, flushes: undefined }

/** Returns the usage between two readings, divided by the number of calls. */
export function usagePerCall(before: ServerUsage, after: ServerUsage, calls: number): ServerUsage {
  const each = (name: keyof ServerUsage): number | undefined => {
    const [from, to] = [before[name], after[name]]
    return from === undefined || to === undefined ? undefined : (to - from) / calls
  }
  return { cpu: each('cpu'), statements: each('statements'), flushes: each('flushes') }
}

/** Linux reports CPU time in /proc in ticks of 10 ms. */
const TICK_MICROS = 10_000

/** Returns the CPU time of these processes and of their ended children, in µs; undefined on systems other than Linux. */
export function cpuOf(pids: readonly number[]): number | undefined {
  if (pids.length === 0) return undefined
  try {
    return pids.reduce((sum, pid) => sum + ticksOf(statOf(pid)), 0) * TICK_MICROS
  } catch {
    return undefined
  }
}

/** Returns the ids of a process and its children: PostgreSQL has a child per connection. */
export function withChildren(parent: number): number[] {
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && parentOf(Number(name)) === parent,
  )
  return [parent, ...children.map(Number)]
}

/** Returns the fields after the process name. The name may contain spaces and brackets, so the last bracket ends it. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Adds user and system time of the process and of its ended children. */
function ticksOf(fields: readonly string[]): number {
  return [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0)
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1])
  } catch {
    // The process ended after the folder was listed.
    return undefined
  }
}
