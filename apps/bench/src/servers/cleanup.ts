/** What has to be undone, last things first; each is tried even when another fails. */
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
