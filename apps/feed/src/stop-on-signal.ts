import { describeStartError } from './start-error.ts'

/** Stops a program at SIGINT or SIGTERM, and then ends the process: with status 1 if stopping fails, or at once at a second signal. */
export function stopOnSignal(stop: () => Promise<unknown>): void {
  let isStopping = false
  const onSignal = (): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(describeStartError(error))
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}
