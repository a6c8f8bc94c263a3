; two results share a storage

; == mul
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = const 2 #4000000000000000
;   %2 f32 = op Mul %0 %1
;   %3 f32 = store a1 %2
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = add i64 %6, 4095
  %12 = lshr i64 %11, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %66, %tail.end ]
  %13 = phi i64 [ %2, %work ], [ %65, %tail.end ]
  %14 = icmp slt i64 %task1, %3
  br i1 %14, label %task, label %task.end

task:                                             ; preds = %task.head
  %15 = mul i64 %13, 4096
  %16 = add i64 %15, 4096
  %17 = call i64 @llvm.smin.i64(i64 %16, i64 %6)
  %18 = sub i64 %17, %15
  %19 = and i64 %18, -32
  %20 = add i64 %15, %19
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %15, %task ], [ %52, %vector ]
  %21 = icmp slt i64 %vector2, %20
  br i1 %21, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %22 = mul i64 %vector2, 1
  %23 = getelementptr float, ptr %8, i64 %22
  %24 = load <8 x float>, ptr %23, align 4
  %25 = mul i64 %vector2, 1
  %26 = getelementptr float, ptr %8, i64 %25
  %27 = getelementptr float, ptr %26, i64 8
  %28 = load <8 x float>, ptr %27, align 4
  %29 = mul i64 %vector2, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = getelementptr float, ptr %30, i64 16
  %32 = load <8 x float>, ptr %31, align 4
  %33 = mul i64 %vector2, 1
  %34 = getelementptr float, ptr %8, i64 %33
  %35 = getelementptr float, ptr %34, i64 24
  %36 = load <8 x float>, ptr %35, align 4
  %37 = fmul <8 x float> %24, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %38 = fmul <8 x float> %28, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %39 = fmul <8 x float> %32, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %40 = fmul <8 x float> %36, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %41 = mul i64 %vector2, 1
  %42 = getelementptr float, ptr %10, i64 %41
  store <8 x float> %37, ptr %42, align 4
  %43 = mul i64 %vector2, 1
  %44 = getelementptr float, ptr %10, i64 %43
  %45 = getelementptr float, ptr %44, i64 8
  store <8 x float> %38, ptr %45, align 4
  %46 = mul i64 %vector2, 1
  %47 = getelementptr float, ptr %10, i64 %46
  %48 = getelementptr float, ptr %47, i64 16
  store <8 x float> %39, ptr %48, align 4
  %49 = mul i64 %vector2, 1
  %50 = getelementptr float, ptr %10, i64 %49
  %51 = getelementptr float, ptr %50, i64 24
  store <8 x float> %40, ptr %51, align 4
  %52 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %20, %vector.end ], [ %64, %tail ]
  %53 = icmp slt i64 %tail3, %17
  br i1 %53, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %54 = sub i64 %17, %tail3
  %55 = call i64 @llvm.umin.i64(i64 %54, i64 8)
  %56 = trunc i64 %55 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %56, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %57 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %58 = mul i64 %tail3, 1
  %59 = getelementptr float, ptr %8, i64 %58
  %60 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %59, i32 4, <8 x i1> %57, <8 x float> zeroinitializer)
  %61 = fmul <8 x float> %60, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %62 = mul i64 %tail3, 1
  %63 = getelementptr float, ptr %10, i64 %62
  call void @llvm.masked.store.v8f32.p0(<8 x float> %61, ptr %63, i32 4, <8 x i1> %57)
  %64 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %65 = add i64 %13, 1
  %66 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
