import { readFileSync } from 'node:fs'

/** What was spent up to now; the difference of two tells what a run took. */
export interface Usage {
  /** CPU time of this process, in µs, its worker threads included. */
  readonly clientCpu: number
  /** CPU time of the database servers, in µs; undefined where they are not ours or cannot be asked. */
  readonly serverCpu: number | undefined
  /** Statements that the servers have executed; undefined for a database without a server. */
  readonly statements: number | undefined
  /** Times that the servers have waited for data to be on the disk; undefined for a database without a server. */
  readonly flushes: number | undefined
}

/** What a backend knows of its servers. */
export interface ServerMeter {
  readonly pids: readonly number[]
  counters(): Promise<{ readonly statements: number; readonly flushes: number }>
}

export async function readUsage(server: ServerMeter | undefined): Promise<Usage> {
  const counters = await server?.counters()
  const { user, system } = process.cpuUsage()
  return {
    clientCpu: user + system,
    serverCpu: server === undefined ? undefined : cpuOf(server.pids),
    statements: counters?.statements,
    flushes: counters?.flushes,
  }
}

/** From one reading to another, for each call. */
export function usagePerCall(before: Usage, after: Usage, calls: number): Usage {
  const each = (name: keyof Usage): number | undefined => {
    const [from, to] = [before[name], after[name]]
    return from === undefined || to === undefined ? undefined : (to - from) / calls
  }
  return {
    clientCpu: each('clientCpu') ?? 0,
    serverCpu: each('serverCpu'),
    statements: each('statements'),
    flushes: each('flushes'),
  }
}

/** Linux counts CPU time in ticks of 10 ms for whoever asks through /proc. */
const TICK_MICROS = 10_000

function cpuOf(pids: readonly number[]): number | undefined {
  if (pids.length === 0) return undefined
  try {
    return (
      pids.reduce((sum, pid) => sum + ticksOf(readFileSync(`/proc/${pid}/stat`, 'utf8')), 0) * TICK_MICROS
    )
  } catch {
    // Another system than Linux.
    return undefined
  }
}

/** User and system time. The fields are counted from behind the name, which may hold anything. */
function ticksOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}
