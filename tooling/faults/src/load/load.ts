import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { moment, readRecords, type ProcessHistory } from '../history/records.ts'
import type { WorkerConfig, WorkerMessage, WorkerOrder } from './worker-config.ts'

/** A process of the load, seen from its parent. */
export interface Worker {
  readonly pid: number
  /** Resolves when its store is open; rejects when it ends before. */
  readonly ready: Promise<void>
  /** Resolves with the moment at which it was gone. */
  readonly gone: Promise<number>
  readonly isGone: boolean
  /** Resolves when it has printed that it stops dead. */
  readonly stopped: Promise<void>
  /** Resolves when a write of it is acknowledged from now on, or when it is gone. */
  written(): Promise<void>
  signal(name: NodeJS.Signals): void
  /** Lets callers end what is under way; the process ends then. */
  stop(): void
}

export interface Load {
  /** Starts one more process. */
  start(config?: Partial<WorkerConfig>, environment?: NodeJS.ProcessEnv): Worker
  readonly workers: readonly Worker[]
  /** Resolves when all are gone: those that are not within the limit are killed and counted as hanging. */
  end(limitMs: number): Promise<{ readonly histories: ProcessHistory[]; readonly hanging: number }>
  /** Kills what is left. */
  kill(): Promise<void>
}

export type LoadConfig = Omit<WorkerConfig, 'worker' | 'file'> & {
  /** Where histories are written. */
  readonly folder: string
}

export function createLoad(base: LoadConfig): Load {
  const started: { readonly worker: Worker; readonly file: string }[] = []

  function start(changes: Partial<WorkerConfig> = {}, environment: NodeJS.ProcessEnv = {}): Worker {
    const number = started.length + 1
    const { folder, ...common } = base
    const file = join(folder, `process-${number}.jsonl`)
    const config: WorkerConfig = { ...common, worker: number, file, ...changes }
    const worker = startWorker(config, environment)
    started.push({ worker, file })
    return worker
  }

  return {
    start,
    get workers() {
      return started.map(({ worker }) => worker)
    },
    async end(limitMs) {
      let hanging = 0
      const timer = setTimeout(() => {
        for (const { worker } of started) {
          if (worker.isGone) continue
          hanging++
          worker.signal('SIGKILL')
        }
      }, limitMs)
      const histories = await Promise.all(
        started.map(async ({ worker, file }) => {
          const goneAt = await worker.gone
          return { records: readRecords(file), goneAt }
        }),
      )
      clearTimeout(timer)
      return { histories, hanging }
    },
    async kill() {
      for (const { worker } of started) if (!worker.isGone) worker.signal('SIGKILL')
      await Promise.all(started.map(({ worker }) => worker.gone))
    },
  }
}

function startWorker(config: WorkerConfig, environment: NodeJS.ProcessEnv): Worker {
  const child = spawn(
    process.execPath,
    [
      '--conditions=@looseleaf/source',
      '--expose-gc',
      fileURLToPath(new URL('./worker.ts', import.meta.url)),
      JSON.stringify(config),
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1', ...environment },
    },
  )
  let isGone = false
  const gone = once(child, 'exit').then(() => {
    isGone = true
    return moment()
  })
  // Resolves at the first word; a process says nothing else on its standard output.
  const stopped = new Promise<void>((resolve) => child.stdout?.once('data', () => resolve()))
  const send = (order: WorkerOrder): void => {
    if (!isGone && child.connected) child.send(order, () => undefined)
  }
  return {
    pid: child.pid ?? 0,
    ready: untilReady(child),
    gone,
    stopped,
    get isGone() {
      return isGone
    },
    written: () =>
      new Promise((resolve) => {
        void gone.then(() => resolve())
        child.on('message', (message: WorkerMessage) => {
          if (message === 'written') resolve()
        })
        send('say when written')
      }),
    signal: (name) => void child.kill(name),
    stop: () => send('stop'),
  }
}

function untilReady(child: ChildProcess): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    child.on('message', (message: WorkerMessage) => {
      if (message === 'ready') resolve()
    })
    child.once('exit', () => reject(new Error('A process of the load ended before it had opened its store.')))
  })
  // Whoever does not wait for it learns of its end in other ways.
  ready.catch(() => undefined)
  return ready
}
