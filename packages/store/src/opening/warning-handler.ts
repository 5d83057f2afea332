import { guarded } from '@looseleaf/core/internal'

const emitWarning = (message: string): void => process.emitWarning(message, 'LooseleafWarning')

/** Passes warnings to `onWarning` of the program, by default to the process. Catches exceptions of `onWarning`. */
export function createWarningHandler(
  onWarning: (message: string) => void = emitWarning,
): (message: string) => void {
  return (message) =>
    void guarded(
      () => onWarning(message),
      (error) => emitWarning(`onWarning failed: ${String(error)}`),
    )
}
