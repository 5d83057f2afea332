import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Answer, FromHost, Question } from './host-protocol.ts'

/** Runs tests in a child process, one question at a time. */
export interface Host {
  /**
   * Returns 'hung' if no test ended for `silenceMs`, or the process died; a new process then takes its place, and has `START_MS` more for its
   * first test.
   */
  ask(question: Question, silenceMs: number): Promise<Answer | 'hung'>
  stop(): void
}

/** Time in milliseconds in which a process starts and loads its first test file, also on a busy machine. */
const START_MS = 60_000

const PROGRAM = fileURLToPath(new URL('test-host.ts', import.meta.url))

/** Limits a mutant that allocates without end. */
const MEMORY = '--max-old-space-size=1500'

/** `packages`: folders of the packages whose tests the host can run. */
export function createHost(packages: readonly string[], env: Readonly<Record<string, string>>): Host {
  let child: ChildProcess | undefined

  function begin(): ChildProcess {
    return fork(PROGRAM, [packages.join()], {
      env: { ...process.env, ...env },
      execArgv: ['--conditions=@looseleaf/source', MEMORY],
      // The output of tests is not needed; complaints of Vitest itself arrive in the answer.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
  }

  function stop(): void {
    child?.kill('SIGKILL')
    child = undefined
  }

  return {
    ask(question, silenceMs) {
      const startMs = child === undefined ? START_MS : 0
      const asked = (child ??= begin())
      return new Promise((resolve, reject) => {
        let silence: NodeJS.Timeout
        const end = (): void => {
          clearTimeout(silence)
          asked.off('message', onMessage)
          asked.off('exit', onHung)
        }
        const onHung = (): void => {
          end()
          stop()
          resolve('hung')
        }
        const listen = (ms: number): void => {
          clearTimeout(silence)
          silence = setTimeout(onHung, ms)
        }
        const onMessage = (message: FromHost): void => {
          if ('alive' in message) return listen(silenceMs)
          end()
          if ('given' in message) resolve(message.given)
          else reject(new Error(message.failed))
        }
        asked.on('message', onMessage)
        asked.on('exit', onHung)
        listen(silenceMs + startMs)
        asked.send(question)
      })
    },
    stop,
  }
}
