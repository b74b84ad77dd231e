import express from "express";
import { expressHandler } from "identity-gateway-webhooks/express";

export const mount = (receiver, path) => express().all(path, expressHandler(receiver));
