/** Runs named steps and records their durations and failures. */
export function createSteps() {
  const done = []
  return {
    /** Runs a step; resolves with true if its exit code is 0. */
    async step(name, action) {
      console.log(`\n── ${name} ──`)
      const started = performance.now()
      const code = await action()
      done.push({ name, seconds: (performance.now() - started) / 1000, code })
      return code === 0
    },
    failed() {
      return done.filter(({ code }) => code !== 0).map(({ name }) => name)
    },
    print() {
      console.log('')
      for (const { name, seconds, code } of done) {
        console.log(
          `${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(24)} ${seconds.toFixed(1).padStart(6)} s`,
        )
      }
    },
  }
}
