import { loadJsx } from './load-jsx.ts'

// In a setup file, because a worker needs it before it loads its first test file.
loadJsx()
