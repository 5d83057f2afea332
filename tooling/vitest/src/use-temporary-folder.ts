import { inject } from 'vitest'

// In a setup file, because modules and helpers of tests read the variable when they are loaded.
const folder = inject('temporaryFolder')
if (folder !== undefined) process.env['TMPDIR'] = folder
