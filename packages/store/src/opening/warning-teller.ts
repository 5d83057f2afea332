import { guarded } from '@looseleaf/core'

const emitWarning = (message: string): void => process.emitWarning(message, 'LooseleafWarning')

/** Hands warnings to `onWarning` of the program, by default to the process. An `onWarning` that fails keeps nothing from going on. */
export function createWarningTeller(
  onWarning: (message: string) => void = emitWarning,
): (message: string) => void {
  return (message) =>
    void guarded(
      () => onWarning(message),
      (error) => emitWarning(`onWarning failed: ${String(error)}`),
    )
}
