import { createRecorder, type Recorder } from './records.ts'

/** What a process tells its parent. */
export type Message = 'ready' | 'written'
/** What it is told: to end, or to say when it has a write acknowledged that has not been yet. */
export type Order = 'stop' | 'say when written'

/** What every process is told, besides what its program has to know. */
export interface Place {
  /** Unique within a run: operations are numbered from it. */
  readonly number: number
  /** Where it writes its history. */
  readonly file: string
}

/** Operations of a process are numbered from its number times this. */
export const NUMBERS_PER_PROCESS = 10_000_000

export interface Child<Config, Line> {
  readonly config: Config & Place
  readonly recorder: Recorder<Line>
  /** The number of its next operation. */
  nextNumber(): number
  /** How many it has had. */
  readonly operations: number
  readonly isStopping: boolean
  /** The store is open. */
  ready(): void
}

/**
 * Does the work of a process that `createProcesses` has started. `isWritten` tells which records are of a write that was
 * acknowledged; `failed` makes a record of what the work throws.
 */
export function runAsChild<Config, Line>(
  work: (child: Child<Config, Line>) => Promise<void>,
  isWritten: (record: Line) => boolean,
  failed: (error: unknown) => Line | undefined,
): void {
  // Our parent wrote it.
  const config = JSON.parse(process.argv[2] ?? '') as Config & Place
  const file = createRecorder<Line>(config.file)
  let [isStopping, saysWhenWritten, isDone, operations] = [false, false, false, 0]
  const tell = (message: Message): void => void process.send?.(message)

  process.on('message', (order: Order) => {
    if (order === 'stop') isStopping = true
    else saysWhenWritten = true
  })
  // Nobody to work for any more.
  process.on('disconnect', () => process.exit(isDone ? 0 : 1))

  const recorder: Recorder<Line> = {
    write(record) {
      file.write(record)
      if (!saysWhenWritten || !isWritten(record)) return
      saysWhenWritten = false
      tell('written')
    },
    close: () => file.close(),
  }
  const child: Child<Config, Line> = {
    config,
    recorder,
    nextNumber: () => config.number * NUMBERS_PER_PROCESS + ++operations,
    get operations() {
      return operations
    },
    get isStopping() {
      return isStopping
    },
    ready: () => tell('ready'),
  }
  async function run(): Promise<void> {
    try {
      await work(child)
      isDone = true
    } catch (error) {
      const record = failed(error)
      if (record !== undefined) recorder.write(record)
    }
    recorder.close()
    process.disconnect?.()
  }
  void run()
}
