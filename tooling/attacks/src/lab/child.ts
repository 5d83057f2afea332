import { createRecorder, type Recorder } from './records.ts'

/** Messages of a process to its parent. */
export type Message = 'ready' | 'written'
/** Messages to a process: stop, or report the next acknowledged write. */
export type Order = 'stop' | 'say when written'

/** Configuration of every process, beside that of its program. */
export interface Place {
  /** Unique within a run; operation numbers start from it. */
  readonly number: number
  /** File of its history. */
  readonly file: string
}

/** Operation numbers of a process start at its own number times this. */
export const NUMBERS_PER_PROCESS = 10_000_000

export interface Child<Config, Line> {
  readonly config: Config & Place
  readonly recorder: Recorder<Line>
  /** Returns the number of the next operation. */
  nextNumber(): number
  /** Number of operations so far. */
  readonly operations: number
  readonly isStopping: boolean
  /** Call when the store is open. */
  ready(): void
}

/**
 * Runs the work of a process that `createProcesses` has started. `isWritten` recognizes records of
 * acknowledged writes; `failed` turns an error of the work into a record.
 */
export function runAsChild<Config, Line>(
  work: (child: Child<Config, Line>) => Promise<void>,
  isWritten: (record: Line) => boolean,
  failed: (error: unknown) => Line | undefined,
): void {
  // Written by our parent.
  const config = JSON.parse(process.argv[2] ?? '') as Config & Place
  const file = createRecorder<Line>(config.file)
  let [isStopping, saysWhenWritten, isDone, operations] = [false, false, false, 0]
  const tell = (message: Message): void => void process.send?.(message)

  process.on('message', (order: Order) => {
    if (order === 'stop') isStopping = true
    else saysWhenWritten = true
  })
  // The parent is gone.
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
