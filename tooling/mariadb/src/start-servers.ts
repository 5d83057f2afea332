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
  // In its own session, so that no signal to this process or its group reaches it. When this process ends,
  // the supervisor's input closes and it cleans up.
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
    throw new Error(report?.message ?? 'The process that starts the database servers ended without a report.')
  }

  // Running servers do not keep this process alive: a program that forgets to stop them still ends, and they
  // end with it.
  supervisor.unref()
  unref(supervisor.stdin)
  unref(supervisor.stdout)

  const { urls, pids } = report
  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    supervisor.ref()
    supervisor.stdin.end()
    await gone
    // Needed only if the supervisor was killed; it leaves no server otherwise.
    for (const pid of supervisor.signalCode === null ? [] : pids) killIfThere(pid)
  }
  return { urls, pids, stop: () => (stopped ??= stop()) }
}

async function readReport(output: Readable): Promise<Report | undefined> {
  for await (const line of createInterface({ input: output })) {
    // Our supervisor writes nothing else.
    return JSON.parse(line) as Report
  }
  return undefined
}

/** Streams of a child are sockets, which their types do not say. */
function unref(stream: Readable | Writable): void {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}
