import fc, { type IAsyncProperty, type Parameters } from 'fast-check'

/** Asserts a property. If it fails, the error begins with the command that replays the history. */
export async function assertReplayable<T>(
  property: IAsyncProperty<T>,
  settings: Parameters<unknown>,
  file: string,
): Promise<void> {
  const details = await fc.check(property, settings as Parameters<T>)
  if (!details.failed) return
  const { seed, counterexamplePath, errorInstance } = details
  const report = (await fc.asyncDefaultReportMessage(details)) ?? ''
  const replay = /replayPath="([^"]*)"/.exec(report)?.[1]
  const variables = [
    `LOOSELEAF_MODEL_SEED=${seed}`,
    ...(counterexamplePath === null ? [] : [`LOOSELEAF_MODEL_PATH=${counterexamplePath}`]),
    ...(replay === undefined ? [] : [`LOOSELEAF_MODEL_REPLAY=${replay}`]),
  ]
  const what = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  throw new Error(
    `${what}\n\nOnce more, in tooling/models:\n  ${variables.join(' ')} pnpm exec vitest run ${file}\n\n${report}`,
    { cause: errorInstance },
  )
}
