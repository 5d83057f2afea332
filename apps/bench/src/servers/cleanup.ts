/** Undo steps, which run in reverse order. A step that fails does not stop the others; `run` then throws. */
export interface Cleanup {
  add(undo: () => Promise<unknown>): void
  run(): Promise<void>
}

export function createCleanup(): Cleanup {
  const steps: (() => Promise<unknown>)[] = []
  return {
    add(undo) {
      steps.push(undo)
    },
    async run() {
      const errors: unknown[] = []
      for (let undo = steps.pop(); undo !== undefined; undo = steps.pop()) {
        try {
          await undo()
        } catch (error) {
          errors.push(error)
        }
      }
      if (errors.length === 1) throw errors[0]
      if (errors.length > 1) throw new AggregateError(errors, 'Not everything could be cleaned up.')
    },
  }
}
