export { default } from './config.ts'
