import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { RunningServers, StartOptions } from '../index.d.ts'
import type { Order, Report } from './supervision.ts'

export async function startServers(count: number, options: StartOptions = {}): Promise<RunningServers> {
  if (!Number.isInteger(count) || count < 1)
    throw new RangeError('The number of servers has to be 1 or more.')
  // A session of its own: whatever signal ends this process or its group, the supervisor sees its input close and
  // cleans up.
  const supervisor = spawn(process.execPath, [fileURLToPath(new URL('./supervisor.ts', import.meta.url))], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' },
  })
  const gone = once(supervisor, 'exit')
  const order: Order = { count, options }
  supervisor.stdin.on('error', () => undefined)
  supervisor.stdin.write(`${JSON.stringify(order)}\n`)

  const report = await readReport(supervisor.stdout)
  if (report === undefined || report.kind === 'failed') {
    supervisor.stdin.end()
    await gone
    throw new Error(report?.message ?? 'The process that starts the database servers ended without a word.')
  }

  // Running servers keep nobody alive: a program that forgets to stop them ends all the same, and they with it.
  supervisor.unref()
  unref(supervisor.stdin)
  unref(supervisor.stdout)

  const { urls, pids } = report
  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    supervisor.ref()
    supervisor.stdin.end()
    await gone
    // Only if somebody has killed the supervisor; it leaves none otherwise.
    for (const pid of supervisor.signalCode === null ? [] : pids) killIfThere(pid)
  }
  return { urls, pids, stop: () => (stopped ??= stop()) }
}

async function readReport(output: Readable): Promise<Report | undefined> {
  for await (const line of createInterface({ input: output })) {
    // The supervisor is ours and writes nothing else.
    return JSON.parse(line) as Report
  }
  return undefined
}

/** The streams of a child are sockets in fact, which the types do not say. */
function unref(stream: Readable | Writable): void {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
